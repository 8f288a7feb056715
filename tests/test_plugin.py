"""The plugin and the skill for assistants: in the form they want, and every tool and command named there exists."""

import json
import re
import shlex
from pathlib import Path

from test_docs import BARE

import willowbark
from willowbark.teams.config import Settings
from willowbark.teams.faces.mcp import Server
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import open_library

PLUGIN = Path(__file__).parent.parent / "plugin"
SKILL = PLUGIN / "skills" / "willowbark" / "SKILL.md"


def test_the_manifests_name_one_plugin_of_this_version() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    (listed,) = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text(encoding="utf-8"))["plugins"]
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))["mcpServers"].values()

    assert manifest["name"] == listed["name"] == "willowbark"
    assert manifest["version"] == willowbark.__version__
    assert (PLUGIN / listed["source"] / ".claude-plugin" / "plugin.json").is_file()
    BARE["take_apart"](shlex.join(["willowbark", *server["args"]]))


def test_the_skill_has_the_head_that_assistants_want() -> None:
    _, head, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())

    assert fields["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert 0 < len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    assert len(body.splitlines()) < 500


async def test_every_tool_argument_and_command_of_the_skill_exists(tmp_path: Path) -> None:
    text = SKILL.read_text(encoding="utf-8")
    async with Transport(Endpoints(library=open_library("bundled"))) as transport:
        tools = {tool.name: tool for tool in await Server(Settings(), transport, tmp_path / "ledger.db").list_tools()}
    known = set(tools)
    for schema in (each for tool in tools.values() for each in (tool.inputSchema, tool.outputSchema or {})):
        parts = [schema, *schema.get("$defs", {}).values()]
        known |= {name for part in parts for name in part.get("properties", {})}

    inline = re.findall(r"`([^`\n]+)`", text)
    named = {each for each in inline if re.fullmatch(r"[a-z]+(_[a-z]+)*", each)} - {"willowbark", "contradicts"}
    assert named <= known
    assert {"research", "search", "fetch"} <= named
    for given in (json.loads(each) for each in inline if each.startswith("{")):
        assert [tool for tool in tools.values() if given.keys() <= tool.inputSchema["properties"].keys()], (
            tools.values()
        )
    for command in (each for each in inline if each.startswith("willowbark ")):
        BARE["take_apart"](command)
        assert shlex.split(command)
