"""What a fresh machine relies on: requirements and pins agree, make's targets exist, tracked files travel."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
OUR_PACKAGES = {"cllm_core", "visualize", "app"}


def requirements(name: str) -> list[Requirement]:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-r ")]


def pins() -> dict[str, str]:
    found = {}
    for requirement in requirements("constraints.txt"):
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", f"{requirement} is not an exact pin"
        found[canonicalize_name(requirement.name)] = specifier.version
    return found


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_is_pinned_within_its_bound(name):
    for requirement in requirements(name):
        pin = pins().get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} has no pin in constraints.txt"
        assert requirement.specifier.contains(pin), f"constraints.txt pins {requirement.name} to {pin}"


def test_no_pin_names_a_build_that_only_one_index_has():
    assert not [f"{name}=={pin}" for name, pin in pins().items() if "+" in pin]


def test_the_environment_holds_the_pinned_versions():
    from importlib.metadata import version

    for requirement in [*requirements("requirements.txt"), *requirements("requirements-dev.txt")]:
        installed = version(requirement.name).split("+")[0]
        assert installed == pins()[canonicalize_name(requirement.name)], f"{requirement.name} {installed} is installed"


def third_party_imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.split(".")[0])
    return found - OUR_PACKAGES - set(sys.stdlib_module_names)


def test_every_import_of_the_program_is_a_requirement():
    required = {canonicalize_name(requirement.name) for requirement in requirements("requirements.txt")}
    distributions = packages_distributions()
    for path in tracked_files():
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0].removesuffix(".py") in OUR_PACKAGES:
            for module in third_party_imports(path):
                owners = {canonicalize_name(owner) for owner in distributions.get(module, [module])}
                assert owners & required, f"{path.name} imports {module}, which requirements.txt does not name"


@pytest.mark.parametrize("target", ["demo", "test", "check", "fix", "bench", "clean"])
def test_make_has_the_target(target):
    done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_make_refuses_an_old_python_with_one_sentence(tmp_path):
    (tmp_path / "Makefile").write_bytes((ROOT / "Makefile").read_bytes())
    old = tmp_path / "python3.9"
    pretend = "import sys; sys.version_info = (3, 9); exec(sys.argv[1])"
    old.write_text(f"#!/bin/sh\nshift\nexec {sys.executable} -c '{pretend}' \"$@\"\n")
    old.chmod(0o755)
    command = ["make", f"PYTHON={old}", ".venv/.made"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Python 3.11 or newer is needed" in done.stderr
    assert "is 3.9" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_the_oldest_python_is_the_same_everywhere():
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"].removeprefix(">=")
    major, minor = oldest.split(".")
    assert f"({major}, {minor})" in (ROOT / "Makefile").read_text()
    assert oldest in (ROOT / "CONTRIBUTING.md").read_text()


def test_no_tracked_file_names_a_registry_host_or_a_path_of_one_machine():
    hosts = ["py" + "pi.org", "python" + "hosted.org", "download.py" + "torch.org", "registry.npm" + "js.org"]
    places = ["/" + part for part in ("work/", "root/", "opt/pypi", "opt/wheels")]
    pattern = re.compile("|".join(rf"(?<![\w.]){re.escape(text)}" for text in [*hosts, *places]).encode())
    found = [
        f"{path.relative_to(ROOT)}: {hit[0]!r}"
        for path in tracked_files()
        if (hit := pattern.search(path.read_bytes()))
    ]
    assert not found


def test_no_tracked_file_is_over_10_megabytes():
    assert not [path.name for path in tracked_files() if path.stat().st_size > 10_000_000]


def test_ci_runs_what_people_run():
    script = (ROOT / ".ci" / "run").read_text()
    assert "make check" in script
    assert "make test" in script
    assert subprocess.run(["bash", "-n", ".ci/run"], cwd=ROOT, check=False).returncode == 0
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
