"""What is installed is what stands in the checkout."""

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


def test_locked_requirements_have_hashes_and_no_address() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index" not in text
        pins = [line for line in text.splitlines() if "==" in line]
        assert pins
        assert all(line.rstrip().endswith("\\") for line in pins), "a pin without a hash"


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
