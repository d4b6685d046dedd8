"""The whole page: its frame, its look, and one line for every tab. What a tab does is its own module's business."""

from pathlib import Path
from typing import Any

import gradio as gr

from visualize.load import MOST_BYTES
from visualize.runs import RUNS
from visualize.settings import AppSettings
from visualize.tabs.about import ABOUT, TAGLINE
from visualize.tabs.compare import compare_tab

TITLE = "Consistency LLMs, pass by pass"
TABS = (("Compare", compare_tab),)
_FILES_KEPT = 6 * 3600  # seconds that a download or an upload stays on the disk
_ASSETS = Path(__file__).resolve().parent.parent / "assets"


def build_ui(settings: AppSettings) -> gr.Blocks:
    """Return the page. No model is loaded for it."""
    with gr.Blocks(title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=(600, _FILES_KEPT)) as blocks:
        gr.Markdown(f"# {TITLE}\n{TAGLINE}", elem_id="title")
        with gr.Tabs(elem_id="tabs"):
            for name, build in TABS:
                with gr.Tab(name):
                    build(settings)
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
            "css_paths": [_ASSETS / "app.css"],
            "ssr_mode": False,
            "share": False,
            "quiet": True,
            "pwa": False,
            "mcp_server": False,
            "run_history": False,
            "enable_monitoring": False,
            "footer_links": ["settings"],
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
    return gr.themes.Base(
        primary_hue="sky",
        neutral_hue="slate",
        font=list(system),
        font_mono=list(mono),
        radius_size="md",
        text_size="md",
    ).set(
        body_background_fill="#f5f7f9",
        body_background_fill_dark="#10141a",
        block_background_fill="#ffffff",
        block_background_fill_dark="#14171c",
        button_primary_background_fill="#005a8c",
        button_primary_background_fill_hover="#00476f",
        button_primary_background_fill_dark="#005a8c",
        button_primary_background_fill_hover_dark="#0a6ea8",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
    )
