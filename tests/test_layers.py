"""Imports go one way. Every module's imports are read from its source, those inside functions included."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A module may import from its own layer and from those above it in this list. The longest name that fits a module
# places it; a package stands for all that is in it.
LAYERS = {
    "values": ["cllm_core.errors", "cllm_core.options", "cllm_core.types"],
    "core": ["cllm_core"],
    "models": [
        "cllm_core.hf", "cllm_core.bundled", "cllm_core.hub", "cllm_core.pairs", "cllm_core.models",
        "cllm_core.compare", "cllm_core.tasks", "cllm_core.train", "cllm_core.bench",
    ],
    "pictures": ["visualize"],
    "app": ["visualize.player", "visualize.tabs", "visualize.ui"],
    "entry": ["app", "cllm_core.cli", "cllm_core.cli_*", "cllm_core.__main__"],
}  # fmt: skip

# Who may import a library that is heavy, or that ties code to one side of the program.
LIBRARIES = {
    "torch": ["cllm_core.hf", "cllm_core.packed", "cllm_core.sampling", "cllm_core.bench", "cllm_core.train"],
    "transformers": ["cllm_core.hf", "cllm_core.sampling", "cllm_core.bundled", "cllm_core.hub", "cllm_core.train"],
    "peft": ["cllm_core.hf", "cllm_core.train"],
    "accelerate": ["cllm_core.train"],
    "datasets": ["cllm_core.tasks", "cllm_core.train"],
    "gradio": ["visualize.player", "visualize.tabs", "visualize.ui", "app"],
    "plotly": ["visualize.figures", "visualize.exports.plotly_files", "visualize.results"],
    "pandas": ["visualize.results"],
}


@cache
def sources() -> dict[str, Path]:
    """Every module of the program, by its dotted name."""
    files = [ROOT / "app.py", *ROOT.glob("cllm_core/**/*.py"), *ROOT.glob("visualize/**/*.py")]
    names = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file for file in files}
    return {name: file for name, file in names.items() if name not in ("cllm_core", "visualize")}


@cache
def imports(module: str) -> list[tuple[str, bool]]:
    """What a module imports, and whether it does so as soon as it is imported itself."""
    return sorted(set(_imports(ast.parse(sources()[module].read_text(encoding="utf-8")), True)))


def _imports(node: ast.AST, at_once: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, at_once) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "imports are written in full"
            for alias in child.names:
                inner = f"{child.module}.{alias.name}"
                yield (inner if inner in sources() else str(child.module)), at_once
        else:
            later = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) or _is_type_checking(child)
            yield from _imports(child, at_once and not later)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def belongs(module: str, owner: str) -> bool:
    if owner.endswith("*"):
        return module.startswith(owner[:-1])
    return module == owner or module.startswith(owner + ".")


def layer(module: str) -> int:
    places = [
        (len(owner), number)
        for number, owners in enumerate(LAYERS.values())
        for owner in owners
        if belongs(module, owner)
    ]
    return max(places)[1]


@pytest.mark.parametrize("module", sorted(sources()))
def test_imports_go_one_way(module):
    for target, _ in imports(module):
        if target in sources():
            assert layer(target) <= layer(module), f"{module} imports {target}, which is above it"


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_stay_where_they_belong(library):
    users = [module for module in sources() if any(name.split(".")[0] == library for name, _ in imports(module))]
    assert users, f"nothing imports {library} any more: take it out of LIBRARIES"
    assert [module for module in users if not any(belongs(module, owner) for owner in LIBRARIES[library])] == []


def test_no_module_needs_itself_to_be_imported():
    graph = {module: {name for name, at_once in imports(module) if at_once} & set(sources()) for module in sources()}
    graph = {module: needed - {module} for module, needed in graph.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)  # CycleError otherwise


@pytest.mark.parametrize("library", ["torch", "transformers", "peft", "datasets"])
def test_the_app_and_the_command_line_start_without_models_libraries(library):
    """They take seconds to import, and replaying a recorded run needs none of them."""
    seen, waiting = set(), ["app", "cllm_core.cli"]
    while waiting:
        module = waiting.pop()
        names = [name for name, at_once in imports(module) if at_once]
        assert library not in [name.split(".")[0] for name in names], f"{module} imports {library} at once"
        seen.add(module)
        waiting += [name for name in names if name in sources() and name not in seen]
    assert len(seen) > 20


def test_every_place_in_the_layers_is_taken():
    for owners in LAYERS.values():
        for owner in owners:
            assert any(belongs(module, owner) for module in sources()), f"there is no {owner} any more"
