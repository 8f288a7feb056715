"""What is installed is what stands in the checkout and was locked, and nothing that is refused."""

import os
import random
import re
import runpy
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = (
    "requirements.txt",
    "requirements-dev.txt",
    "requirements-host.txt",
    "studio/requirements.txt",
    "studio/autogenstudio.txt",
    ".ci/agent-framework.txt",
    ".ci/axe.txt",
    ".ci/docs.txt",
    ".ci/mutants.txt",
    ".ci/types.txt",
)
FLOORS = ("agents", "tools", "teams")
SEED = 1


def project() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def test_every_folder_with_code_is_in_the_wheel() -> None:
    listed = set(project()["tool"]["setuptools"]["packages"])  # type: ignore[index]
    standing = {
        ".".join(["willowbark", *init.parent.relative_to(ROOT).parts])
        for floor in FLOORS
        for init in (ROOT / floor).rglob("__init__.py")
    }
    assert listed == standing | {"willowbark"}


@pytest.mark.parametrize("floor", FLOORS)
def test_type_checkers_see_each_floor_through_its_link(floor: str) -> None:
    link = ROOT / "src" / "willowbark" / floor
    assert link.is_symlink()
    assert link.resolve() == (ROOT / floor).resolve()


@pytest.mark.parametrize("floor", FLOORS)
def test_every_data_file_is_package_data(floor: str) -> None:
    patterns = tuple(p.removeprefix("*") for p in project()["tool"]["setuptools"]["package-data"]["*"])  # type: ignore[index]
    strange = [
        path
        for path in (ROOT / floor).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith((".py", *patterns))
    ]
    assert strange == []


def test_every_lock_is_installed_with_its_hashes_from_no_address_of_its_own() -> None:
    lines = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    from_locks = [line for line in lines if "pip install" in line and re.search(r" -r \S+\.txt", line)]

    assert len(from_locks) >= 4
    assert [line for line in from_locks if "--require-hashes" not in line] == []
    for lock in LOCKS:
        text = (ROOT / lock).read_text(encoding="utf-8")
        assert 0 < text.count("==") <= text.count("--hash=sha256:"), lock
        assert not re.search(r"^-?-(?:index|extra-index|find)|://", text, re.MULTILINE), lock


def locked(lock: str) -> dict[str, str]:
    text = (ROOT / lock).read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", text, re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS)
def test_no_lock_holds_what_is_refused(lock: str) -> None:
    """AutoGen's MCP tools need `mcp` 1; earlier Studios an older AutoGen, and 0.4.3.dev runs anybody's commands."""
    pins = locked(lock)

    has_autogens_tools = lock != ".ci/agent-framework.txt"
    assert (int(pins.get("mcp", "1").split(".")[0]) < 2) is has_autogens_tools
    assert pins.get("autogenstudio", "0.4.2.2") == "0.4.2.2"
    assert "diskcache" not in pins  # CVE-2025-69872
    assert {pins[name] for name in pins if name.startswith("autogen-")} <= {"0.7.5"}


def test_a_run_loads_no_mcp(tmp_path: Path) -> None:
    """Whichever `mcp` is installed beside Willowbark, nothing of it is imported."""
    (tmp_path / "mcp.py").write_text("raise SystemExit('mcp was imported')\n")
    script = (
        "import willowbark.teams.run.research, willowbark.teams.faces.cli, willowbark.teams.faces.studio, sys; "
        "print('mcp' in sys.modules)"
    )
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environ, check=False)

    assert told.stdout.strip() == "False", told.stderr


@pytest.mark.parametrize("locked", ["requirements.txt", "studio/requirements.txt"])
def test_what_a_run_needs_is_locked_wherever_one_is_installed(locked: str) -> None:
    needed = {re.split(r"[\[<>=!~ ]", each)[0].lower() for each in project()["project"]["dependencies"]}  # type: ignore[index]
    pinned = {line.partition("==")[0] for line in (ROOT / locked).read_text(encoding="utf-8").splitlines()}
    assert needed <= pinned


def test_licences_of_what_is_not_ours_are_in_the_package() -> None:
    patterns = project()["project"]["license-files"]  # type: ignore[index]
    packed = {path.relative_to(ROOT).as_posix() for pattern in patterns for path in ROOT.glob(pattern)}
    assert packed == {"LICENSE", "NOTICE", "LICENSES/Apache-2.0.txt"}
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "tools/reading/encoder.onnx" in notice
    assert (ROOT / "tools/reading/encoder.onnx").is_file()
    assert "Apache-2.0" in (ROOT / "tools/reading/weights.md").read_text(encoding="utf-8")


def test_a_release_needs_a_version_that_the_changelog_dates_and_no_tag_has() -> None:
    problems = runpy.run_path(str(ROOT / ".ci" / "release.py"))["problems"]
    ready = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2026-11-24\n- Something.\n"

    assert problems("1.2.0", ready, "", ["v1.1.0"]) == []
    (waiting,) = problems("1.2.0", ready.replace("[Unreleased]\n", "[Unreleased]\n- New.\n"), "", [])
    assert "[Unreleased] belongs under [1.2.0]" in waiting
    (undated,) = problems("1.3.0", ready, "", [])
    assert "no heading `## [1.3.0] - YYYY-MM-DD`" in undated
    assert len(problems("1.2.0", ready, " M README.md", ["v1.2.0"])) == 2


def what_is_needed(dependencies: list[str]) -> set[str]:
    """The distributions that these dependencies bring, and what those bring, without extras that nobody asked for."""
    found, waiting = set[str](), [Requirement(each) for each in dependencies]
    while waiting:
        one = waiting.pop()
        for extra in ["", *one.extras]:
            if (key := f"{canonicalize_name(one.name)}[{extra}]") not in found:
                found.add(key)
                further = [Requirement(each) for each in distribution(one.name).requires or []]
                waiting += [each for each in further if not each.marker or each.marker.evaluate({"extra": extra})]
    return {each.partition("[")[0] for each in found}


@pytest.mark.whole
def test_commands_of_the_documentation_work_where_the_package_is_installed_alone(tmp_path: Path) -> None:
    uv = Path(sysconfig.get_path("scripts")) / "uv"
    build = [uv, "build", "--quiet", "--offline", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([*build, "--out-dir", tmp_path / "dist"], cwd=ROOT, check=True)
    venv.create(tmp_path / "bare", symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "bare")}))
    for name in what_is_needed(project()["project"]["dependencies"]):  # type: ignore[index]
        for file in distribution(name).files or []:
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).symlink_to(file.locate())
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", tmp_path / "bare"]
    subprocess.run([*install, wheel], check=True)
    bare = runpy.run_path(str(ROOT / ".ci" / "bare_install.py"))

    pages = random.Random(SEED).sample([page for page in bare["PAGES"] if bare["complete"]([page])], 4)
    assert bare["main"](tmp_path / "bare" / "bin" / "willowbark", extras=False, pages=pages) == []


def test_workflows_use_actions_by_commit() -> None:
    """A tag can be moved to other code, a commit cannot."""
    uses = [
        line.strip()
        for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if "uses:" in line
    ]
    assert len(uses) > 1
    assert [line for line in uses if not re.fullmatch(r"- uses: [\w/-]+@[0-9a-f]{40} # v[\d.]+", line)] == []
