"""Check that a release may be made: the version, its place in the changelog, and that nothing is left uncommitted.

    python .ci/release.py

Prints the tag; the exit code is 2, with a line on each thing to mend, where one is not as it should be.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def problems(version: str, changelog: str, changed: str, tags: list[str]) -> list[str]:
    """What stands in the way of a release.

    Args:
        version: of the package.
        changelog: its text.
        changed: what `git status` names.
        tags: that exist.
    """
    found = []
    headings = re.findall(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", changelog, re.MULTILINE)
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if unreleased and unreleased[1].strip():
        found.append(f"CHANGELOG.md: what stands under [Unreleased] belongs under [{version}]")
    dated = {name: day for name, day in headings if name != "Unreleased"}
    if not dated.get(version):
        found.append(f"CHANGELOG.md: no heading `## [{version}] - YYYY-MM-DD`, as __version__ has it")
    if f"v{version}" in tags:
        found.append(f"the tag v{version} exists: raise __version__ in src/willowbark/__init__.py")
    if changed.strip():
        found.append("there are uncommitted changes")
    return found


def main() -> int:
    """Look, and say."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout

    source = (ROOT / "src/willowbark/__init__.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "([^"]+)"$', source, re.MULTILINE)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = problems(version, changelog, git("status", "--porcelain"), git("tag").split())
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"v{version}")
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
