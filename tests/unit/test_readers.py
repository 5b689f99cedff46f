"""Every reader, given damaged files: an error of ours, or something that works everywhere. Nothing else.

``WHYALIKE_FUZZ=50`` runs fifty times as many cases, other ones each time.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whyalike
from tests.families import LEFT, RIGHT, tiny_encoder
from whyalike import render
from whyalike.analysis.interactions import read_interactions
from whyalike.analysis.negation import read_choices
from whyalike.data.alignments import read_alignments
from whyalike.data.pairs import check_text
from whyalike.data.tables import has_scores, read_items, read_scored_pairs, read_table
from whyalike.data.truth import read_truth
from whyalike.data.word_vectors import load_word_vectors
from whyalike.errors import BadInput, DamagedFile, UnknownModel, UnknownVersion
from whyalike.evaluate.rating import ANSWERS, ITEMS, KEY, RatingStudy, prepare
from whyalike.evaluate.run import ROWS, _check_entry, cases_of, evaluate
from whyalike.language.conllu import read_conllu
from whyalike.results.files import explanation_from_dict, result_from_dict
from whyalike.results.sides import Side
from whyalike.storage.run_folder import REQUEST, JsonLog
from whyalike.train.trainer import RECORD, Trained, load_record

OTHER_RESULTS = ("one_sided", "comparison", "contrast")
MORE = int(os.environ.get("WHYALIKE_FUZZ", "1"))
OURS = (DamagedFile, BadInput, UnknownVersion)


def many(count: int) -> Any:
    return settings(
        max_examples=count * MORE,
        derandomize=MORE == 1,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


class Reader(NamedTuple):
    """A reader with a file it accepts: ``use`` reads the file and does with it what it is for."""

    name: str
    content: Callable[[], bytes]
    use: Callable[[Path], object]


@cache
def explanation(method: str = "bilrp") -> whyalike.Explanation:
    return whyalike.explain(f"{LEFT} It was good.", RIGHT, encoder=tiny_encoder(), method=method)


def use_explanation(e: whyalike.Explanation) -> None:
    """All that can be done with one without its model."""
    written = json.dumps(e.to_dict(), allow_nan=False, ensure_ascii=False).encode()
    assert explanation_from_dict(json.loads(written)).to_dict() == e.to_dict()
    for each in [e, e.swapped(), *((e.by_word(), e.by_sentence()) if e.left.unit == e.right.unit == "token" else ())]:
        each.top_pairs(5), each.top_pairs(), each.adds_up, each.residual, each.to_dict(), each.to_columns(), repr(each)
        each.spans("left"), each.spans("right")
        if each.left.unit in ("token", "word") and each.right.unit in ("token", "word"):
            each.phrase_pairs(), each.by_phrase().to_dict()
        render.to_html(each), render.to_svg(each), render.to_terminal(each)
        if each.method.adds_up:
            each.one_sided().top()
            each.spread("equal"), each.spread("proportional")


def evaluation() -> bytes:
    pairs = [(LEFT, RIGHT)] * 6
    found = evaluate("balance", cases_of(pairs), encoder=tiny_encoder(), subjects=["bilrp", "random"], progress=False)
    return json.dumps(found.to_dict() | {"rows": list(found.rows)}).encode()


def use_evaluation(path: Path) -> None:
    found = whyalike.load(path)
    repr(found), found.to_columns(), found.significance()
    json.dumps(found.to_dict(), allow_nan=False, ensure_ascii=False).encode()


def use_result(path: Path) -> None:
    """The other results: one-sided, compared, contrasted."""
    found = whyalike.load(path)
    written = json.dumps(found.to_dict(), allow_nan=False, ensure_ascii=False).encode()
    assert result_from_dict(json.loads(written)).to_dict() == found.to_dict()
    found.to_columns(), repr(found)
    if isinstance(found, whyalike.OneSided):
        found.top(), found.spans(), found.residual
        return
    render.to_html(found), render.to_terminal(found)
    if isinstance(found, whyalike.Contrast):
        found.top(), found.swapped().difference, found.residual, found.adds_up
    else:
        found.spearman, found.overlap(), found.pairs


def use_contributions(path: Path) -> None:
    found = whyalike.load(path)
    parts = found if isinstance(found, list) else [found]
    for part in parts:
        json.dumps(part.to_dict(), allow_nan=False), part.to_columns(), part.nbytes, repr(part)
    if len(parts) > 1:
        use_explanation(whyalike.explain_parts(parts[0], parts[1]))


@cache
def other_result(kind: str) -> dict[str, Any]:
    encoder = tiny_encoder()
    if kind == "one_sided":
        return explanation().one_sided().to_dict()
    if kind == "contrast":
        return whyalike.contrast(LEFT, RIGHT, "A dog runs.", encoder=encoder).to_dict()
    return whyalike.compare(LEFT, RIGHT, methods=["bilrp", "bti"], encoders=[encoder]).to_dict()


def _contributions() -> bytes:
    with TemporaryDirectory() as folder:
        parts = whyalike.contributions([LEFT, RIGHT], encoder=tiny_encoder())
        return whyalike.save(parts, Path(folder) / "parts.safetensors").read_bytes()


def use_table(path: Path) -> None:
    for row in read_table(path, ("left", "right", "score")).rows:
        [check_text(text) for text in (row["left"], row["right"])], f"{row['score']:.3f}"
    has_scores(path)
    read_scored_pairs(path, scores=(0, 5))


def use_items(path: Path) -> None:
    for item in read_items(path)[0]:
        [check_text(text) for text in (item.id, item.title, item.text)]


def use_alignments(path: Path) -> None:
    for each in read_alignments(path):
        [check_text(text) for text in each.pair]
        assert each.gold().shape == (len(each.left), len(each.right))
        json.dumps([chunk.kind for chunk in each.chunks])


def use_truth(path: Path) -> None:
    for each in read_truth(path):
        sides = [_letters(text) for text in [check_text(text) for text in (each.left, each.right)]]
        assert each.matrix(*sides).sum() == pytest.approx(each.score)


def _letters(text: str) -> Side:
    reading = {"text": text, "unit": "token", "tokens": list(text), "kinds": ["text"] * len(text), "cut": 0}
    places = {
        "offsets": [[n, n + 1] for n in range(len(text))],
        "word_of": [0] * len(text),
        "sentence_of": [0] * len(text),
    }
    from whyalike.storage.reading import Fields

    return Side.from_dict(Fields({**reading, **places}))


def use_conllu(path: Path) -> None:
    for text, words in read_conllu(path).items():
        check_text(text)
        for word in words:
            assert 0 <= word.start < word.end <= len(text)


def use_vectors(path: Path) -> None:
    vectors = load_word_vectors(path)
    for word in ("old", "Ship", ""):
        found = vectors.find(word)
        assert found is None or found.shape == (vectors.width,)


def use_study(folder: Path) -> None:
    study = RatingStudy(folder)
    json.dumps(study.result(), allow_nan=False)
    json.dumps(study.next_item("Ada"), allow_nan=False)


def use_log(folder: Path) -> None:
    log = JsonLog(folder / ROWS, _check_entry)
    json.dumps(log.entries, allow_nan=False)


def _parquet() -> bytes:
    out = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"left": ["a", "b"], "right": ["c", "d"], "score": [1.0, 2.0]}), out)
    return out.getvalue()


CONLLU = "# text = Der Hund im Haus\n" + "\n".join(
    "\t".join(cells)
    for cells in (
        ("1", "Der", "der", "DET", "_", "_", "2", "det", "_", "_"),
        ("2", "Hund", "Hund", "NOUN", "_", "_", "0", "root", "_", "_"),
        ("3-4", "im", "_", "_", "_", "_", "_", "_", "_", "_"),
        ("3", "in", "in", "ADP", "_", "_", "5", "case", "_", "_"),
        ("4", "dem", "der", "DET", "_", "_", "5", "det", "_", "_"),
        ("5", "Haus", "Haus", "NOUN", "_", "_", "2", "nmod", "_", "_"),
    )
)
WA = """<sentence id="1" status="">
// old ships sail
// boats sail
<source>
1 old :
2 ships :
3 sail :
</source>
<translation>
1 boats :
2 sail :
</translation>
<alignment>
1 2 <==> 1 // SIMI // 4 // old ships <==> boats
3 <==> 2 // EQUI // 5 // sail <==> sail
</alignment>
</sentence>
"""
EDINBURGH = [{"source": "old ships", "target": "boats", "sureAlign": "1-0", "possibleAlign": "0-0"}]
ROW = {"left": "old ships", "right": "boats", "score": 3.5}
FILES = [
    Reader("pairs.csv", lambda: b'left,right,score\nold ships,boats,3\n"a, b",c,4.5\n', use_table),
    Reader("pairs.tsv", lambda: b"left\tright\tscore\nold ships\tboats\t3\na\tc\t4.5\n", use_table),
    Reader("pairs.jsonl", lambda: f"{json.dumps(ROW)}\n{json.dumps(ROW)}\n".encode(), use_table),
    Reader("pairs.parquet", _parquet, use_table),
    Reader("items.jsonl", lambda: b'{"id": 1, "title": "A hat", "text": "It is red."}\n', use_items),
    Reader("links.tsv", lambda: b"old ships sail\tboats sail\t0-0 1-0 2-1\n", use_alignments),
    Reader("links.json", lambda: json.dumps(EDINBURGH).encode(), use_alignments),
    Reader("links.wa", WA.encode, use_alignments),
    Reader("truth.jsonl", lambda: b'{"left": "a dog", "right": "the dog", "matches": [[[2, 5], [4, 7]]]}\n', use_truth),
    Reader("gold.conllu", CONLLU.encode, use_conllu),
    Reader("choices.jsonl", lambda: b'{"input": "a", "sentences": ["b", "c"], "label": 1}\n', read_choices),
    Reader("vectors.txt", lambda: b"2 3\nold 1 2 3\nship 0.5 1e-3 -2\n", use_vectors),
    Reader("vectors.gz", lambda: gzip.compress(b"old 1 2 3\nship 0.5 1e-3 -2\n"), use_vectors),
    Reader(
        "explanation.json",
        lambda: json.dumps(explanation("bti").to_dict()).encode(),
        lambda path: use_explanation(whyalike.load(path)),
    ),
    Reader("evaluation.json", evaluation, use_evaluation),
    *(
        Reader(f"{kind}.json", partial(lambda kind: json.dumps(other_result(kind)).encode(), kind), use_result)
        for kind in OTHER_RESULTS
    ),
    Reader("parts.safetensors", _contributions, use_contributions),
]

# Damage to bytes. Long pieces have names, to be shown by.
LONG = {"brackets": b"[" * 60_000, "objects": b'{"a":' * 20_000, "400 digits": b"9" * 400, "4400 digits": b"9" * 4400}
SHORT = [b"", b"\x00", b"\xff", b'"', b"\n", b"\t", b",", b"{", b"}", b"[", b"1e999", b"-1", b"-", b"NaN", b"Infinity"]
SHORT += [b'"\\ud800"', b"null", b"true", b"0-0", b"1-999999999999", b"2.1", b" ", b"\xed\xa0\x80", b"\xef\xbb\xbf"]
SHORT += ["\u0085".encode(), "\u0663".encode()]
Cuts = list[tuple[float, int, bytes | str]]
CUTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 40), st.sampled_from([*SHORT, *LONG]) | st.binary(max_size=6)),
    min_size=1,
    max_size=3,
)


def damaged(content: bytes, cuts: Cuts) -> bytes:
    """Some stretches replaced by something else."""
    for place, length, new in cuts:
        start = round(place * len(content))
        content = content[:start] + (LONG[new] if isinstance(new, str) else new) + content[start + length :]
    return content


def check(use: Callable[[Path], object], path: Path) -> None:
    try:
        use(path)
    except OURS as error:
        said = str(error)
    else:
        said = "it works"
    assert 0 < len(said) < 2_000


@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
def test_a_damaged_file_is_refused_or_works(reader: Reader, tmp_path: Path) -> None:
    whole, path = reader.content(), tmp_path / reader.name
    path.write_bytes(whole)
    reader.use(path)

    @many(150)
    @given(CUTS)
    def run(cuts: Cuts) -> None:
        path.write_bytes(damaged(whole, cuts))
        check(reader.use, path)

    run()


@pytest.mark.parametrize("reader", FILES, ids=lambda reader: reader.name)
def test_what_is_no_file_is_refused(reader: Reader, tmp_path: Path) -> None:
    folder, loop, long = tmp_path / f"folder-{reader.name}", tmp_path / f"loop-{reader.name}", tmp_path / ("x" * 300)
    folder.mkdir()
    loop.symlink_to(loop)
    for path in (folder, loop, long, tmp_path / f"none-{reader.name}", Path(f"a\x00{reader.name}")):
        with pytest.raises((*OURS, UnknownModel)):  # word vectors that are no file may be a pipeline's name
            reader.use(path)


# Damage to values: every place of a JSON document takes every kind of wrong value.
NASTY: list[Any] = [None, True, "", "x", "\ud800", "<b>", -1, 0, 7, 1.5, -0.0, 1e100, 1e308, 10**20, 10**400]
NASTY += [float("nan"), float("inf"), [], {}, [[]], [None], ["x"], [1], {"a": 1}]
GONE = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            found += places(each, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return None if new is GONE else new
    copy = value.copy()
    if new is GONE and len(path) == 1:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("kind", OTHER_RESULTS)
def test_a_result_with_a_wrong_value_is_refused_or_works(kind: str, tmp_path: Path) -> None:
    whole, path = json.loads(json.dumps(other_result(kind))), tmp_path / "result.json"
    where = st.sampled_from(places(whole))
    shallow = st.sampled_from([each for each in places(whole) if len(each) < 6 and not isinstance(each[-1:], int)])

    @many(150)
    @given(where | shallow, st.sampled_from([GONE, *NASTY]))
    def run(place: tuple[Any, ...], new: Any) -> None:
        path.write_text(json.dumps(changed(whole, place, new)))
        check(use_result, path)

    run()


@pytest.mark.parametrize("method", ["bilrp", "bti", "integrated_jacobians", "token_outputs"])
def test_an_explanation_with_a_wrong_value_is_refused_or_works(method: str, tmp_path: Path) -> None:
    whole = json.loads(json.dumps(explanation(method).to_dict()))
    use_explanation(explanation_from_dict(whole))
    where, path = st.sampled_from(places(whole)), tmp_path / "e.json"
    shallow = st.sampled_from([each for each in places(whole) if len(each) < 4 and not isinstance(each[-1:], int)])

    @many(300)
    @given(where | shallow, st.sampled_from([GONE, *NASTY]))
    def run(place: tuple[Any, ...], new: Any) -> None:
        wrong = changed(whole, place, new)
        path.write_text(json.dumps(wrong))
        check(lambda path: use_explanation(whyalike.load(path)), path)
        check(lambda _: use_explanation(explanation_from_dict(wrong)), path)

    run()


def _study(folder: Path) -> None:
    study = prepare(cases_of([(LEFT, RIGHT)]), folder, encoder=tiny_encoder(), subjects=["bilrp"], progress=False)
    for rater in ("Ada", "Grace"):
        study.answer(rater, study.items[0]["id"], 4)


def _evaluation(folder: Path) -> None:
    cases = cases_of([(LEFT, RIGHT), (RIGHT, LEFT)])
    evaluate("balance", cases, encoder=tiny_encoder(), subjects=["bilrp"], folder=folder, progress=False)


def _training(folder: Path) -> None:
    record = Trained(folder, ((1, 0.5), (2, 0.25)), ({"epoch": 1.0, "dev_spearman": 0.5},), {"kind": "similarity"})
    folder.mkdir()
    (folder / RECORD).write_text(json.dumps(record.to_dict()))


def _table(folder: Path) -> None:
    folder.mkdir()
    asked = {"version": 2, "model": {"similarity": "cosine"}, "pairs": 2, "together": 2}
    (folder / REQUEST).write_text(json.dumps(asked))
    for name in ("words", "pairs"):
        (folder / f"{name}-00000000.parquet").write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "name", "use"),
    [
        (_study, ITEMS, use_study),
        (_study, KEY, use_study),
        (_study, ANSWERS, use_study),
        (_evaluation, ROWS, use_log),
        (_training, RECORD, load_record),
        (_table, REQUEST, read_interactions),
    ],
    ids=["items", "key", "answers", "rows", "record", "table"],
)
def test_a_folder_with_a_damaged_file_is_refused_or_works(
    make: Callable[[Path], None], name: str, use: Callable[[Path], object], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    make(folder)
    path, whole = folder / name, (folder / name).read_bytes()
    use(folder)
    lines = [json.loads(line) for line in whole.splitlines()] if name.endswith("l") else [json.loads(whole)]
    where = st.sampled_from([(n, place) for n, line in enumerate(lines) for place in places(line)])

    @many(100)
    @given(CUTS, where, st.sampled_from([GONE, *NASTY]))
    def run(cuts: Cuts, where: tuple[int, tuple[Any, ...]], new: Any) -> None:
        path.write_bytes(damaged(whole, cuts))
        check(lambda _: use(folder), path)
        number, place = where
        wrong = [changed(line, place, new) if n == number else line for n, line in enumerate(lines)]
        path.write_text("".join(f"{json.dumps(line)}\n" for line in wrong))
        check(lambda _: use(folder), path)

    run()


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("left,right,left\na,b,c\n")
    with pytest.raises(BadInput, match="two columns called 'left'"):
        read_table(tmp_path / "pairs.csv", ("left", "right"))
