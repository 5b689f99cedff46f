"""``whyalike analyze`` and ``whyalike report``"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyalike.analysis import ANALYSES
from whyalike.cli import given
from whyalike.cli.shown import tell_saved
from whyalike.errors import BadInput, unknown
from whyalike.runs import held
from whyalike.whole_files import write_text

if TYPE_CHECKING:
    from whyalike.analysis.languages import Bilingual
    from whyalike.analysis.section import Section
    from whyalike.analysis.study import Study
    from whyalike.encoders.encoder import Encoder
    from whyalike.methods import Method

Data = Annotated[str, typer.Option(help="Pairs: a file, or a data set by name, such as `stsb-en-test` or `qqp`.")]
Out = Annotated[
    Path, typer.Option("--out", help="A folder for tables, charts and the page; a killed run goes on there.")
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="A Hugging Face name or a path; several are shown side by side. Can be repeated."),
]
Methods = Annotated[str, typer.Option(help="How to explain; `whyalike methods` lists them.")]
Taggers = Annotated[
    list[str] | None,
    typer.Option(
        "--tagger",
        help="english, german, russian, chinese, any spaCy pipeline, or a .conllu file; two where the sides differ.",
    ),
]
Pairs = Annotated[int | None, typer.Option(help="Only so many pairs, spread evenly over the data.")]
Column = Annotated[
    list[str] | None,
    typer.Option("--column", help="What your file calls a column, such as `left=question`. Can be repeated."),
]
Scores = Annotated[
    str | None, typer.Option(help="The range of your file's scores, as in `0:5`; without it they are from 0 to 1.")
]
SHOWN, WIDEST = 12, 40  # rows of a table in the terminal, and letters of a column


Choices = Annotated[
    bool,
    typer.Option("--choices", help="negation: also SemAntoNeg's paraphrases, from the folder of the data sets."),
]


def command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(each.replace('_', '-') for each in ANALYSES)}.")],
    out: Out,
    data: Annotated[
        str | None,
        typer.Option(
            help="Pairs: a file, or a data set by name, such as `stsb-en-test`. All but adjectives need some."
        ),
    ] = None,
    model: Models = None,
    method: Methods = "bilrp",
    layer: given.Layer = None,
    tagger: Taggers = None,
    pairs: Pairs = None,
    column: Column = None,
    scores: Scores = None,
    translated: Annotated[
        str | None, typer.Option(help="languages: the same pairs, row by row, in the second tagger's language.")
    ] = None,
    alone: Annotated[
        list[str] | None, typer.Option(help="languages: a model of one language, as `german=PATH`. Can be repeated.")
    ] = None,
    choices: Choices = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A parameter: `top=0.2` of roles, `least=10` of lexical, `positions=own` of references; or one of the "
            "method's, such as `tolerance=0.05`. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Ask one question of a model over a corpus: a table, charts and a page.

    Example: `whyalike analyze parts-of-speech --data stsb-en-test --pairs 200 --out pos`
    """
    chosen = name.replace("-", "_")
    if chosen not in ANALYSES:
        raise unknown("analysis", name, [each.replace("_", "-") for each in ANALYSES])
    for option, value, owner in (
        ("translated", translated, "languages"),
        ("alone", alone, "languages"),
        ("choices", choices, "negation"),
    ):
        if value and owner != chosen:
            raise BadInput(f"--{option} is for {owner}, not for {name}. Leave it out.")
    without_effect: dict[str, dict[str, Any]] = {
        "references": {"--method": method != "bilrp", "--layer": layer is not None, "--tagger": tagger},
        "adjectives": {"--pairs": pairs, "--column": column, "--scores": scores, "--tagger": tagger},
    }
    for option, given_there in without_effect.get(chosen, {}).items():
        if given_there:
            raise BadInput(f"{option} has no effect on {name}. Leave it out.")
    if (data is None) != (chosen == "adjectives"):
        say = "makes its own sentences: leave --data out" if data else "needs pairs: give --data"
        raise BadInput(f"{name} {say}.")
    parameters, others = _parameters(chosen, settings)
    asked = Asked(data, out, model, method, layer, tagger, pairs, column, scores, others)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.analysis.section import save

        if chosen == "languages":
            study: Any = _bilingual(asked, translated, alone)
        else:
            study = _study(asked)
        if choices:
            from whyalike.analysis.negation import read_choices

            parameters["choices"] = read_choices()
    made = "" if chosen == "references" else study.asked
    with held(out):
        section = _run(chosen, study, parameters)
        saved = save(section, out, " · ".join(filter(None, (data, made))))
    _show(section)
    tell_saved(saved)


def report_command(
    data: Data,
    out: Out,
    model: Models = None,
    method: Methods = "bilrp",
    layer: given.Layer = None,
    tagger: Taggers = None,
    pairs: Pairs = None,
    column: Column = None,
    scores: Scores = None,
    choices: Choices = False,
    settings: given.Settings = None,
) -> None:
    """Write one page about a model and a corpus: what it matches, what it ignores, where it and people part ways.

    Example: `whyalike report --data stsb-en-test --pairs 300 --out about`
    """
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.analysis.report import report, to_report
        from whyalike.render.page import chart_tools

        chart_tools()  # before any work is done
        study = _study(Asked(data, out, model, method, layer, tagger, pairs, column, scores, settings))
        from whyalike.analysis.negation import read_choices

        paraphrases = read_choices() if choices else ()
    with held(out):
        sections = report(study, choices=paraphrases)
        write_text(out / "report.html", to_report(sections, study, data))
    for sentence in sections[0].says:
        typer.echo(sentence)
    Console(stderr=True, highlight=False).print(f"Written: {out / 'report.html'}", markup=False)


PARAMETERS: dict[str, dict[str, Any]] = {
    "roles": {"top": float},
    "lexical": {"least": int},
    "references": {"reference": str, "positions": str},
    "languages": {"example": int},
    "negation": {"explained": int, "sentences": str},
}


def _parameters(name: str, settings: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    """What is the analysis's own, and the rest, which is the method's."""
    known, found, others = PARAMETERS.get(name, {}), {}, []
    for each in settings or ():
        key, _, value = each.partition("=")
        if key not in known:
            others.append(each)
            continue
        try:
            found[key] = known[key](value)
        except ValueError:
            raise BadInput(f"{key} should be a {known[key].__name__}; got {value!r}.") from None
    return found, others


@dataclass(frozen=True, slots=True)
class Asked:
    """What both commands are given."""

    data: str | None
    out: Path
    model: list[str] | None
    method: str
    layer: int | None
    tagger: list[str] | None
    pairs: int | None
    column: list[str] | None
    scores: str | None
    settings: list[str] | None

    def chosen_method(self) -> Method:
        (chosen,) = given.methods_of([self.method], self.settings, None, None)
        return chosen


def _run(name: str, study: Any, parameters: dict[str, Any]) -> Section:
    from importlib import import_module

    function = getattr(import_module(f"whyalike.analysis.{name}"), name)
    section: Section = function(study, **parameters)
    return section


def _study(asked: Asked) -> Study:
    from whyalike.analysis.annotate import tagger as named
    from whyalike.analysis.study import Study

    texts, labels = _pairs(asked.data, asked, asked.pairs) if asked.data else ([], None)
    taggers = [named(each) for each in asked.tagger or ["english"]]
    if len(taggers) > 2:
        raise BadInput(f"There are two sides; got {len(taggers)} taggers.")
    return Study(
        pairs=texts,
        labels=labels,
        encoders=_encoders(asked.model),
        folder=asked.out,
        tagger=taggers[0] if len(taggers) == 1 else (taggers[0], taggers[1]),
        method=asked.chosen_method(),
        layer=asked.layer,
    )


def _bilingual(asked: Asked, translated: str | None, alone: list[str] | None) -> Bilingual:
    from whyalike.analysis.annotate import tagger as named
    from whyalike.analysis.languages import Bilingual
    from whyalike.encoders.load import load_encoder

    languages = asked.tagger or []
    if asked.data is None or translated is None or len(languages) != 2:
        raise BadInput("languages needs --translated and two --tagger, such as --tagger english --tagger german.")
    if languages[0] == languages[1]:
        raise BadInput(f"languages compares two; got {languages[0]!r} twice.")
    if len(asked.model or ()) > 1:
        raise BadInput("languages looks at one model that reads both; name others with --alone.")
    both = {
        language: _pairs(source, asked, None)
        for language, source in zip(languages, (asked.data, translated), strict=True)
    }
    labels = both[languages[0]][1]
    if labels is None:
        raise BadInput(f"{asked.data} has no scores; languages compares models with people's.")
    if missing := [each for each in alone or () if "=" not in each]:
        raise BadInput(f"--alone takes LANGUAGE=PATH, with nothing after = for the embedded model; got {missing[0]!r}.")
    given_alone = dict(each.partition("=")[::2] for each in alone or ())
    if not given_alone.keys() <= set(languages):
        raise unknown("language", next(iter(given_alone.keys() - set(languages))), languages)
    return Bilingual(
        pairs={language: texts for language, (texts, _) in both.items()},
        labels=labels,
        taggers={language: named(language) for language in languages},
        multi=load_encoder(asked.model[0] if asked.model else None),
        mono={language: load_encoder(path or None) for language, path in given_alone.items()},
        folder=asked.out,
        method=asked.chosen_method(),
        layer=asked.layer,
        explained=asked.pairs,
    )


def _pairs(data: str, asked: Asked, count: int | None) -> tuple[list[tuple[str, str]], list[float] | None]:
    from whyalike.data_sets import evenly, has_scores, read_scored_pairs, read_table

    columns = given.columns(asked.column)
    labels: list[float] | None = None
    if asked.scores is not None or "score" in columns or has_scores(data):
        texts, labels = read_scored_pairs(data, columns=columns, scores=_range(asked.scores))
    else:
        texts = [(row["left"], row["right"]) for row in read_table(data, ("left", "right"), columns).rows]
    numbers = evenly(len(texts), count)
    return [texts[number] for number in numbers], None if labels is None else [labels[number] for number in numbers]


def _range(scores: str | None) -> tuple[float, float] | None:
    if scores is None:
        return None
    try:
        lowest, highest = (float(each) for each in scores.split(":"))
    except ValueError:
        raise BadInput(f"--scores should be the lowest and the highest score, as in 0:5; got {scores!r}.") from None
    return lowest, highest


def _encoders(names: list[str] | None) -> dict[str, Encoder]:
    from whyalike.encoders.load import load_encoder

    loaded = [load_encoder(name) for name in names] if names else [load_encoder()]
    shown = [Path(encoder.record.name).name for encoder in loaded]
    return {
        name if shown.count(name) == 1 else f"{name} ({number})": encoder
        for number, (name, encoder) in enumerate(zip(shown, loaded, strict=True), 1)
    }


def _show(section: Section) -> None:
    from whyalike.render.page import columns_of, shown

    console = Console(highlight=False)
    console.print(section.title, style="bold")
    for sentence in section.says:
        console.print(f"· {sentence}", markup=False)
    for name, rows in section.tables.items():
        cells = {column: [shown(row.get(column)) for row in rows[:SHOWN]] for column in columns_of(rows)}
        fitting = _fitting(cells, console.width)
        table = Table(title=Text(name), title_justify="left", box=None)
        for column in fitting:
            table.add_column(column.replace("_", " "), overflow="ellipsis", max_width=WIDEST)
        for line in zip(*(cells[column] for column in fitting), strict=True):
            table.add_row(*map(Text, line))
        console.print(table)
        left_out = [f"{len(rows) - SHOWN} more rows"] if len(rows) > SHOWN else []
        left_out += [f"{len(cells) - len(fitting)} more columns"] if len(cells) > len(fitting) else []
        if left_out:
            console.print(f"  … {' and '.join(left_out)} in the files", style="dim", markup=False)


def _fitting(cells: dict[str, list[str]], width: int) -> list[str]:
    """The first columns that fit beside each other."""
    found: list[str] = []
    taken = 0
    for column, texts in cells.items():
        taken += min(WIDEST, max(map(len, (column, *texts)))) + 2
        if found and taken > width:
            break
        found.append(column)
    return found
