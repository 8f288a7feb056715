"""A library built from PubMed's files: the same records as PubMed's replies, whatever is cut or killed."""

import gzip
import json
import multiprocessing
import re
import time
from pathlib import Path

import pytest
from benchmarks.baseline import FIRST_PMID, write_baseline, write_file
from typer.testing import CliRunner, Result

from willowbark.teams.faces.cli import app
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import building, open_library
from willowbark.tools.library.building import Manifest, build_library, verify_library
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.sources.studies.pubmed import PubMed, parse_articles

REPLY = Path(__file__).parent / "replies" / "pubmed" / "efetch.xml"
HEAD = "<PubmedArticleSet>"


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baseline")
    write_baseline(folder, 300, per_file=100, updates=2)
    return folder


def article(pmid: int, title: str, version: int = 1, more: str = "") -> str:
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="{version}">{pmid}</PMID><Article><ArticleTitle>{title}'
        f"</ArticleTitle>{more}</Article></MedlineCitation></PubmedArticle>"
    )


def records(folder: Path, first: int = FIRST_PMID, most: int = 400) -> dict[str, Evidence]:
    names = [f"pmid:{number}" for number in range(first, first + most)]
    return {record.key: record for record in open_library(folder).by_numbers(names, "pubmed")}


def titles(folder: Path, *pmids: int) -> list[str]:
    return [each.citation.title for each in open_library(folder).by_numbers([f"pmid:{pmid}" for pmid in pmids])]


def test_what_is_built_is_what_pubmed_replies(tmp_path: Path) -> None:
    source = tmp_path / "files"
    source.mkdir()
    with gzip.open(source / "pubmed26n0001.xml.gz", "wb") as file:
        file.write(REPLY.read_bytes())
    build_library(tmp_path / "library", source)
    due = parse_articles(REPLY.read_bytes()).records
    found = open_library(tmp_path / "library").by_numbers([each.key for each in due], "pubmed")
    assert {each.key: each for each in found} == {each.key: each for each in due}


def test_updates_revise_and_delete(baseline: Path, tmp_path: Path) -> None:
    held = build_library(tmp_path / "library", baseline)
    found = records(tmp_path / "library")
    assert held.records == len(found) == 298
    assert [each for each in found.values() if "(revised)" in each.citation.title], found.values()
    assert list(verify_library(tmp_path / "library", baseline)) == []


def test_a_file_twice_changes_nothing(baseline: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    build_library(library, baseline)
    before, manifest = records(library), (library / "library.json").read_bytes()
    steps: list[building.BuildProgress] = []
    build_library(library, baseline, steps.append)
    assert steps == []
    assert records(library) == before
    assert json.loads((library / "library.json").read_bytes())["files"] == json.loads(manifest)["files"]


def test_a_cut_a_foreign_and_a_changed_file_cost_themselves_alone(baseline: Path, tmp_path: Path) -> None:
    source, library = tmp_path / "files", tmp_path / "library"
    source.mkdir()
    for file in baseline.iterdir():
        (source / file.name).write_bytes(file.read_bytes())
    whole = (source / "pubmed26n0002.xml.gz").read_bytes()
    (source / "pubmed26n0002.xml.gz").write_bytes(whole[: len(whole) // 2])
    (source / "pubmed26n0002.xml.gz.md5").unlink()
    (source / "pubmed26n0003.xml.gz").write_bytes(whole)  # not what its MD5 says
    with gzip.open(source / "zoo.xml.gz", "wb") as file:
        file.write(b"<zoo/>")
    held = build_library(library, source)
    assert set(held.refused) == {"pubmed26n0002.xml.gz", "pubmed26n0003.xml.gz", "zoo.xml.gz"}
    assert "cut or damaged" in held.refused["pubmed26n0002.xml.gz"]
    assert "MD5" in held.refused["pubmed26n0003.xml.gz"]
    assert held.files["pubmed26n0001.xml.gz"]["articles"] == 100
    for name in ("pubmed26n0002.xml.gz", "pubmed26n0003.xml.gz"):
        (source / name).write_bytes((baseline / name).read_bytes())
    (source / "zoo.xml.gz").unlink()
    build_library(library, source)
    build_library(tmp_path / "undisturbed", baseline)
    assert records(library) == records(tmp_path / "undisturbed"), "files that came late overwrite nothing newer"


def test_a_higher_version_and_a_later_file_win(tmp_path: Path) -> None:
    source, library = tmp_path / "files", tmp_path / "library"
    source.mkdir()
    write_file(
        source / "n1.xml.gz", [article(1, "Second", 2), article(1, "First"), article(2, "Old"), article(3, "Out")]
    )
    write_file(source / "n2.xml.gz", [article(2, "New")], deleted=[3])
    build_library(library, source)
    assert titles(library, 1, 2, 3) == ["Second", "New"]


def test_a_broken_article_costs_itself_alone(tmp_path: Path) -> None:
    source = tmp_path / "files"
    source.mkdir()
    broken = ["<PubmedArticle><MedlineCitation></PubmedArticle>", article(0, "&unknown;"), article(5, "Whole")]
    write_file(source / "n1.xml.gz", broken)
    held = build_library(tmp_path / "library", source)
    assert (held.records, held.files["n1.xml.gz"]["unread"]) == (1, 2)
    assert "unreadable" in next(verify_library(tmp_path / "library"))


def _build_slowly(library: Path, source: Path) -> None:
    build_library(library, source, lambda _: time.sleep(0.01))


@pytest.mark.whole
def test_killed_ten_times_it_is_the_same_library(baseline: Path, tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    for life in range(10):
        builder = spawn.Process(target=_build_slowly, args=(tmp_path / "library", baseline))
        builder.start()
        builder.join(0.8 + 0.15 * life)
        builder.kill()
        builder.join()
    build_library(tmp_path / "library", baseline)
    build_library(tmp_path / "undisturbed", baseline)
    assert records(tmp_path / "library") == records(tmp_path / "undisturbed")
    assert list(verify_library(tmp_path / "library", baseline)) == []


def test_what_stopped_between_index_and_manifest_is_read_again(
    baseline: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[int] = []

    def stop_at_second(self: Manifest, folder: Path) -> None:
        writes.append(1)
        if len(writes) == 2:
            raise KeyboardInterrupt
        original(self, folder)

    original = Manifest.write
    monkeypatch.setattr(Manifest, "write", stop_at_second)
    with pytest.raises(KeyboardInterrupt):
        build_library(tmp_path / "library", baseline)
    build_library(tmp_path / "library", baseline)
    assert list(verify_library(tmp_path / "library")) == []
    assert len(records(tmp_path / "library")) == 298


@pytest.fixture
def built(baseline: Path, tmp_path: Path) -> Path:
    build_library(tmp_path / "library", baseline)
    return tmp_path / "library"


async def test_it_is_searched_in_pubmeds_syntax(tmp_path: Path) -> None:
    source, folder = tmp_path / "files", tmp_path / "library"
    source.mkdir()
    more = (
        "<Journal><JournalIssue><PubDate><Year>{year}</Year></PubDate></JournalIssue></Journal><Abstract><AbstractText>"
        "Attacks were fewer.</AbstractText></Abstract><AuthorList><Author><LastName>Smith</LastName><Initials>AB"
        "</Initials></Author></AuthorList><PublicationTypeList><PublicationType>Review</PublicationType>"
        "</PublicationTypeList></Article><ChemicalList><Chemical><NameOfSubstance>Timolol</NameOfSubstance></Chemical>"
        "</ChemicalList><MeshHeadingList><MeshHeading><DescriptorName>Migraine Disorders</DescriptorName></MeshHeading>"
        "</MeshHeadingList><KeywordList><Keyword>beta blockade</Keyword></KeywordList><Article>"
    )
    described = article(1, "Propranolol for headache", 1, more.format(year=2019)).replace("<Article></Article>", "")
    write_file(source / "n1.xml.gz", [described, article(2, "Migraine in mice"), article(3, "Propranolol in mice")])
    build_library(folder, source)
    due = {
        '"propranolol"[ti]': 2,
        "propranolol[ti] NOT mice[tiab]": 1,
        '"migraine disorders"[mh]': 1,
        "Smith AB[au]": 1,
        "2018:2020[dp]": 1,
        "2020:2021[dp]": 0,
        "review[pt]": 1,
        "timolol[nm]": 1,
        '"attacks were fewer"[tiab]': 1,
        '"beta blockade"[tiab]': 1,
        "(propranolol OR migraine) AND mice": 2,
    }
    async with Transport(Endpoints(library=open_library(folder))) as transport:
        pubmed = PubMed(transport)
        counts = {query: (await pubmed._find(query, 10, None)).total for query in due}
        assert counts == due


def test_the_commands_say_what_is_there_and_what_is_wrong(built: Path, baseline: Path) -> None:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(app, ["library", *map(str, arguments)])

    said = run("info", built).stdout
    assert "records: 298" in said
    assert re.search(r"years: (19|20)\d\d to 20\d\d$", said, re.MULTILINE)
    assert "files: 5, the last of them pubmed26n0005.xml.gz" in said
    assert run("verify", built, "--from", baseline).exit_code == 0
    assert run("update", built, "--from", baseline).exit_code == 0
    assert run("update", baseline / "none", "--from", baseline).exit_code == 2
    assert "--from" in run("build", built).stderr
    (built / "index" / "meta.json").unlink()
    assert run("verify", built).exit_code == 4


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("library.json", '{"format": 0}', "of format 0"),
        ("library.json", "{", "is damaged; delete the folder"),
        ("index/meta.json", "{", "its index cannot be opened.*delete the folder"),
        ("index/meta.json", None, "its index cannot be opened.*delete the folder"),
    ],
)
def test_a_library_that_is_damaged_or_of_another_format_is_refused_in_a_line_that_says_what_to_do(
    built: Path, baseline: Path, file: str, content: str | None, said: str
) -> None:
    (built / file).unlink() if content is None else (built / file).write_text(content)
    for use in (lambda: build_library(built, baseline), lambda: open_library(built)):
        with pytest.raises(UsageError, match=said) as caught:
            use()
        assert "\n" not in str(caught.value)


def test_a_folder_that_is_no_library_is_told(tmp_path: Path, baseline: Path) -> None:
    with pytest.raises(UsageError, match="is not a library"):
        build_library(tmp_path / "nothing", baseline, must_exist=True)


def test_a_walk_gives_every_publication_once_whatever_its_date_and_order(baseline: Path, tmp_path: Path) -> None:
    build_library(tmp_path / "library", baseline)
    library = open_library(tmp_path / "library")
    keys = [record.key for record in library.publications()]
    assert len(keys) == len(set(keys)) == library.contents.publications
    turned = [record.key for record in library.publications(list.reverse)]
    assert turned != keys
    assert sorted(turned) == sorted(keys)
    bundled = [record.key for record in open_library("bundled").publications()]
    assert len(bundled) == len(set(bundled)) > 200
