"""A small MCP server of somebody else's, on standard input and output or over HTTP.

It answers in words, in JSON and text of the shapes that servers for PubMed and trials have, in broken JSON, or never.

python tests/small_mcp_server.py [PORT | prompt]: `prompt` leaves out the tool that never answers.
"""

import asyncio
import json
import sys

from mcp.server.fastmcp import FastMCP

ports = [int(word) for word in sys.argv[1:] if word.isdecimal()]
server = FastMCP("small", port=ports[0] if ports else 8000, log_level="CRITICAL")


@server.tool()
def search_notes(query: str) -> str:
    """Search the notes of a clinic."""
    return f"One note on {query}: propranolol reduced migraine attacks."


@server.tool()
def pubmed_search_articles(query: str) -> str:
    """Search PubMed; answers in JSON, as one of the community's servers does."""
    article = {"pmid": "11025624", "title": "A study of propranolol", "abstractText": "Short.", "pubDate": "2000"}
    return json.dumps({"searchTerm": query, "totalFound": 1, "articles": [article]})


@server.tool()
def article_searcher(query: str) -> str:
    """Search articles; answers in text, as another of the community's servers does."""
    return f"# Record 1\nPmid: 7649498\nTitle: On {query}\n\n# Record 2\nNct Number: NCT00168428\n"


@server.tool()
def broken_search(query: str) -> str:
    """Search something whose JSON is cut off."""
    return '{"articles": [{"title": "On ' + query


async def search_archive(query: str) -> str:
    """Search an archive that takes its time."""
    await asyncio.sleep(600)
    return query


if "prompt" not in sys.argv:
    server.tool()(search_archive)

if __name__ == "__main__":
    server.run(transport="streamable-http" if ports else "stdio")
