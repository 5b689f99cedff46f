"""``whyalike analyze`` and ``whyalike report``"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from whyalike.analysis import ANALYSES, Analysis
from whyalike.cli import options
from whyalike.cli.output import print_saved_files
from whyalike.errors import BadInput, unknown
from whyalike.storage.run_folder import RunFolder
from whyalike.storage.writing import write_text

if TYPE_CHECKING:
    from whyalike.analysis.corpus import Corpus
    from whyalike.analysis.languages import BilingualCorpus
    from whyalike.analysis.section import Section
    from whyalike.encoders.encoder import Encoder
    from whyalike.methods.spec import MethodSpec

Data = Annotated[str, typer.Option(help="Pairs: a file, or a data set such as `stsb-en-test` or `qqp`.")]
Out = Annotated[
    Path,
    typer.Option(
        "--out", help="Folder for tables, charts and the page. If the run is interrupted, the same command resumes it."
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Hugging Face name or path; several models are shown side by side. Can be repeated."),
]
Taggers = Annotated[
    list[str] | None,
    typer.Option(
        "--tagger",
        help="english, german, russian, chinese, any spaCy pipeline, or a .conllu file. "
        "Give it twice if left and right are in different languages.",
    ),
]
Pairs = Annotated[int | None, typer.Option(help="Use only N pairs, spread evenly over the data.")]
SHOWN, WIDEST = 12, 40  # rows of a table in the terminal, and letters of a column


Choices = Annotated[
    bool,
    typer.Option("--choices", help="For negation: also the paraphrases of SemAntoNeg, from $WHYALIKE_DATA."),
]


def epilog() -> str:
    """The analyses, for the help text."""
    lines = []
    for each in ANALYSES.values():
        parameters = "; ".join(f"{name} ({parameter.help})" for name, parameter in each.parameters.items())
        lines.append(
            f"- **{each.command}**: {each.question} Needs {each.needs}."
            + (f" Parameters: {parameters}." if parameters else "")
        )
    return "\n".join(lines)


def command(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(each.command for each in ANALYSES.values())}.")],
    out: Out,
    data: Annotated[
        str | None,
        typer.Option(help="Pairs: a file, or a data set such as `stsb-en-test`. Not for adjectives."),
    ] = None,
    model: Models = None,
    method: options.Method = "bilrp",
    layer: options.Layer = None,
    tagger: Taggers = None,
    pairs: Pairs = None,
    column: options.Column = None,
    scores: options.Scores = None,
    translated: Annotated[
        str | None, typer.Option(help="For languages: the same pairs, row by row, in the second tagger's language.")
    ] = None,
    alone: Annotated[
        list[str] | None, typer.Option(help="For languages: a monolingual model, as `german=PATH`. Can be repeated.")
    ] = None,
    choices: Choices = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Parameter of the analysis (listed below) or of the method, such as `tolerance=0.05`. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Analyze what a model attends to over a corpus: tables, charts and a page.

    Example: `whyalike analyze parts-of-speech --data stsb-en-test --pairs 200 --out pos`
    """
    analysis = ANALYSES.get(name.replace("-", "_"))
    if analysis is None:
        raise unknown("analysis", name, [each.command for each in ANALYSES.values()])
    bilingual = analysis.needs == "pairs in two languages"
    without_effect = {
        "--translated": translated and not bilingual,
        "--alone": alone and not bilingual,
        "--choices": choices and analysis.name != "negation",
        "--method": method != "bilrp" and not analysis.explains,
        "--layer": layer is not None and not analysis.explains,
        "--tagger": tagger and (not analysis.explains or analysis.needs == "nothing"),
        "--pairs": pairs and analysis.needs == "nothing",
        "--column": column and analysis.needs == "nothing",
        "--scores": scores and analysis.needs == "nothing",
    }
    for option, given in without_effect.items():
        if given:
            raise BadInput(f"{option} has no effect on {name}. Leave it out.")
    if (data is None) != (analysis.needs == "nothing"):
        say = "makes its own sentences: leave --data out" if data else "needs pairs: give --data"
        raise BadInput(f"{name} {say}.")
    parameters, others = _parameters(analysis, settings)
    request = Request(data, out, model, method, layer, tagger, pairs, column, scores, others)
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.render.analysis import save

        corpus: Any = _bilingual_corpus(request, translated, alone) if bilingual else _corpus(request)
        extra: dict[str, Any] = {}
        if choices:
            from whyalike.analysis.negation import read_choices

            extra["choices"] = read_choices()
    with RunFolder.open(out, corpus.request) as run:
        run.check_part(analysis.name, {"parameters": parameters, "choices": choices})
        section = analysis.run(corpus, **parameters, **extra)
        made = corpus.description if analysis.explains else ""
        saved = save(section, out, " · ".join(filter(None, (data, made))))
    _print(section)
    print_saved_files(saved)


def report_command(
    data: Data,
    out: Out,
    model: Models = None,
    method: options.Method = "bilrp",
    layer: options.Layer = None,
    tagger: Taggers = None,
    pairs: Pairs = None,
    column: options.Column = None,
    scores: options.Scores = None,
    choices: Choices = False,
    settings: options.MethodSettings = None,
) -> None:
    """Write a report about a model and a corpus: what it matches, what it ignores, where it disagrees with people.

    Example: `whyalike report --data stsb-en-test --pairs 300 --out about`
    """
    from whyalike.cli.progress import loading, quiet_models

    quiet_models()
    with loading("Loading"):
        from whyalike.analysis.report import report
        from whyalike.render.model_card import model_card
        from whyalike.render.page import chart_tools
        from whyalike.render.report import to_report

        chart_tools()  # before any work is done
        request = Request(data, out, model, method, layer, tagger, pairs, column, scores, settings)
        corpus = _corpus(request)
        from whyalike.analysis.negation import read_choices

        paraphrases = read_choices() if choices else ()
    with RunFolder.open(out, corpus.request) as run:
        run.check_part("report", {"choices": choices})
        made = report(corpus, choices=paraphrases)
        card = model_card(made, data=data, command=request.command("report", choices))
        write_text(out / "report.html", to_report(made, data=data, card=card))
        write_text(out / "model-card.md", card)
    for finding in made.headlines:
        typer.echo(f"{finding.headline}. {finding.sentence}")
    for reason in made.missing:
        typer.echo(f"Not measured: {reason}")
    written = ", ".join(str(out / name) for name in ("report.html", "model-card.md"))
    Console(stderr=True, highlight=False).print(f"Written: {written}", markup=False)


def _parameters(analysis: Analysis, settings: list[str] | None) -> tuple[dict[str, Any], list[str]]:
    """The analysis's own parameters, and the rest, which are the method's."""
    found, others = {}, []
    for each in settings or ():
        key, _, value = each.partition("=")
        if key in analysis.parameters:
            found[key] = analysis.parameters[key].read(key, value)
        else:
            others.append(each)
    return found, others


@dataclass(frozen=True, slots=True)
class Request:
    """The options that both commands have."""

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

    def command(self, name: str, choices: bool) -> str:
        """The command line that asks for this again, whatever the folder: the same run gives the same text anywhere."""
        words = ["whyalike", name]
        for option in fields(self):
            value = getattr(self, option.name)
            if value is None or (option.name == "method" and value == "bilrp"):
                continue
            value = "report" if option.name == "out" else value
            for each in value if isinstance(value, list) else [value]:
                words += [f"--{'set' if option.name == 'settings' else option.name}", str(each)]
        return shlex.join([*words, *(["--choices"] if choices else [])])

    def spec(self) -> MethodSpec:
        (spec,) = options.parse_methods([self.method], self.settings, None, None)
        return spec


def _corpus(request: Request) -> Corpus:
    from whyalike.analysis.corpus import Corpus
    from whyalike.language.taggers import tagger as named

    texts, labels = _pairs(request.data, request, request.pairs) if request.data else ([], None)
    taggers = [named(each) for each in request.tagger or ["english"]]
    if len(taggers) > 2:
        raise BadInput(f"There are two sides; got {len(taggers)} taggers.")
    return Corpus(
        pairs=texts,
        labels=labels,
        encoders=_encoders(request.model),
        folder=request.out,
        tagger=taggers[0] if len(taggers) == 1 else (taggers[0], taggers[1]),
        method=request.spec(),
        layer=request.layer,
    )


def _bilingual_corpus(request: Request, translated: str | None, alone: list[str] | None) -> BilingualCorpus:
    from whyalike.analysis.languages import BilingualCorpus
    from whyalike.encoders.load import load_encoder
    from whyalike.language.taggers import tagger as named

    languages = request.tagger or []
    if request.data is None or translated is None or len(languages) != 2:
        raise BadInput("languages needs --translated and two --tagger, such as --tagger english --tagger german.")
    if languages[0] == languages[1]:
        raise BadInput(f"languages compares two; got {languages[0]!r} twice.")
    if len(request.model or ()) > 1:
        raise BadInput("languages takes one multilingual --model. Give monolingual models with --alone LANGUAGE=PATH.")
    both = {
        language: _pairs(source, request, None)
        for language, source in zip(languages, (request.data, translated), strict=True)
    }
    labels = both[languages[0]][1]
    if labels is None:
        raise BadInput(f"{request.data} has no scores; languages compares models with people's.")
    if missing := [each for each in alone or () if "=" not in each]:
        raise BadInput(f"--alone takes LANGUAGE=PATH, with nothing after = for the embedded model; got {missing[0]!r}.")
    given_alone = dict(each.partition("=")[::2] for each in alone or ())
    if not given_alone.keys() <= set(languages):
        raise unknown("language", next(iter(given_alone.keys() - set(languages))), languages)
    return BilingualCorpus(
        pairs={language: texts for language, (texts, _) in both.items()},
        labels=labels,
        taggers={language: named(language) for language in languages},
        multi=load_encoder(request.model[0] if request.model else None),
        mono={language: load_encoder(path or None) for language, path in given_alone.items()},
        folder=request.out,
        method=request.spec(),
        layer=request.layer,
        explained=request.pairs,
    )


def _pairs(data: str, request: Request, count: int | None) -> tuple[list[tuple[str, str]], list[float] | None]:
    from whyalike.data.tables import evenly, has_scores, read_scored_pairs, read_table

    columns = options.columns(request.column)
    labels: list[float] | None = None
    if request.scores is not None or "score" in columns or has_scores(data):
        texts, labels = read_scored_pairs(data, columns=columns, scores=options.score_range(request.scores))
    else:
        texts = [(row["left"], row["right"]) for row in read_table(data, ("left", "right"), columns).rows]
    numbers = evenly(len(texts), count)
    return [texts[number] for number in numbers], None if labels is None else [labels[number] for number in numbers]


def _encoders(names: list[str] | None) -> dict[str, Encoder]:
    from whyalike.encoders.load import load_encoder

    loaded = [load_encoder(name) for name in names] if names else [load_encoder()]
    shown = [Path(encoder.record.name).name for encoder in loaded]
    return {
        name if shown.count(name) == 1 else f"{name} ({number})": encoder
        for number, (name, encoder) in enumerate(zip(shown, loaded, strict=True), 1)
    }


def _print(section: Section) -> None:
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
