"""The whole page: its frame, its look, and one line for every tab. What a tab does is its own module's business."""

from pathlib import Path
from typing import Any

import gradio as gr

from visualize.load import MOST_BYTES
from visualize.runs import RUNS
from visualize.settings import AppSettings
from visualize.tabs.about import ABOUT, TAGLINE
from visualize.tabs.compare import compare_tab
from visualize.tabs.finetune import finetune_tab
from visualize.tabs.learn import learn_tab

TITLE = "Consistency LLMs, pass by pass"
TABS = (("Compare", compare_tab), ("Learn", learn_tab), ("Fine-tune", finetune_tab))
_FILES_KEPT = 6 * 3600  # seconds that a download or an upload stays on the disk
# on a phone the settings start folded, so that the player is near
_ON_LOAD = "() => { if (innerWidth < 700) document.querySelector('#settings > button')?.click(); }"
_ASSETS = Path(__file__).resolve().parent.parent / "assets"


def build_ui(settings: AppSettings) -> gr.Blocks:
    """Return the page. No model is loaded for it."""
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=(600, _FILES_KEPT)) as blocks:
        gr.Markdown(f"# {TITLE}\n{TAGLINE}", elem_id="title")
        with gr.Tabs(elem_id="tabs"):
            for name, build in TABS:
                with gr.Tab(name):
                    build(settings, blocks)
        with gr.Accordion("What am I looking at?", open=False, elem_id="about"):
            gr.Markdown(ABOUT)
        blocks.unload(_closed)
    return blocks


def _closed(request: gr.Request) -> None:
    """Free the models when a page is closed, also for a run that still waits."""
    RUNS.drop_owner(request.session_hash or "")


def launch(blocks: gr.Blocks, settings: AppSettings, **options: Any) -> tuple[Any, str]:
    """Serve the page; return gradio's app and the address. `options` go to gradio's launch."""
    app, address, _ = blocks.queue(max_size=64).launch(
        **{
            "server_name": settings.host,
            "server_port": settings.port,
            "theme": theme(),
            "css_paths": [_ASSETS / "app.css", _ASSETS / "finetune.css"],
            "js": _ON_LOAD,
            "ssr_mode": False,
            "share": False,
            "quiet": True,
            "pwa": False,
            "mcp_server": False,
            "run_history": False,
            "enable_monitoring": False,
            "footer_links": [],
            "max_file_size": MOST_BYTES,
            "prevent_thread_lock": True,
            **options,
        }
    )
    return app, address


def theme() -> gr.themes.Base:
    """Return the page's look: system fonts (nothing is fetched), and colours whose contrast passes in both modes."""
    system = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
    mono = ("ui-monospace", "SF Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")
    colours = {
        name: colour
        for light, (day, night) in _COLOURS.items()
        for name, colour in ((light, day), (f"{light}_dark", night))
    }
    return gr.themes.Base(
        primary_hue=_BLUE,
        secondary_hue=_BLUE,
        neutral_hue=_GREY,
        font=list(system),
        font_mono=list(mono),
        radius_size="md",
        spacing_size="md",
    ).set(
        **colours,
        color_accent="#005a8c",
        input_border_width="1px",
        button_border_width="1px",
        block_border_width="1px",
        block_label_text_weight="600",
        block_title_text_weight="600",
    )


_BLUE = gr.themes.Color(
    "#eef6fb",
    "#d9eaf5",
    "#b3d4ea",
    "#7cc0ea",
    "#4da3d6",
    "#0072b2",
    "#005a8c",
    "#004a73",
    "#003b5c",
    "#002c45",
    "#001d2e",
)
_GREY = gr.themes.Color(
    "#f8fafb",
    "#f1f4f6",
    "#e2e7ec",
    "#cbd3db",
    "#a4aebb",
    "#68727f",
    "#545d68",
    "#3c454f",
    "#262d37",
    "#1b2027",
    "#10141a",
)
_COLOURS = {  # by day, by night
    "body_background_fill": ("#f5f7f9", "#10141a"),
    "body_text_color": ("#1b2026", "#e4e8ed"),
    "body_text_color_subdued": ("#545d68", "#a4aebb"),
    "background_fill_primary": ("#ffffff", "#14171c"),
    "background_fill_secondary": ("#f5f7f9", "#1b2027"),
    "border_color_primary": ("#d9dfe5", "#303844"),
    "block_background_fill": ("#ffffff", "#14171c"),
    "block_border_color": ("#d9dfe5", "#303844"),
    "block_title_text_color": ("#1b2026", "#e4e8ed"),
    "block_label_text_color": ("#545d68", "#a4aebb"),
    "block_info_text_color": ("#545d68", "#a4aebb"),
    "input_background_fill": ("#ffffff", "#1b2027"),
    "input_border_color": ("#8a94a0", "#5c6673"),
    "input_placeholder_color": ("#68727f", "#8f99a6"),
    "link_text_color": ("#005a8c", "#7cc4ee"),
    "slider_color": ("#005a8c", "#6bbdf0"),
    "checkbox_background_color_selected": ("#005a8c", "#005a8c"),
    "button_primary_background_fill": ("#005a8c", "#005a8c"),
    "button_primary_background_fill_hover": ("#00476f", "#0a6ea8"),
    "button_primary_text_color": ("#ffffff", "#ffffff"),
    "button_secondary_background_fill": ("#ffffff", "#1b2027"),
    "button_secondary_background_fill_hover": ("#e9edf1", "#262d37"),
    "button_secondary_border_color": ("#cbd3db", "#3c454f"),
    "button_secondary_text_color": ("#1b2026", "#e4e8ed"),
    "button_cancel_background_fill": ("#a34700", "#a34700"),
    "button_cancel_background_fill_hover": ("#853a00", "#b85400"),
    "button_cancel_text_color": ("#ffffff", "#ffffff"),
}
