"""Makes the pages that are generated: `python scripts/make_docs.py`. A test fails where they are out of date.

`docs/commands.md` is the help of every command. What stands between ``<!-- NAME -->`` and ``<!-- end -->`` in the README and in
`docs/` is made from the tables in the code, and from the first example in the help of each command.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

os.environ |= {"COLUMNS": "110", "TERM": "dumb", "NO_COLOR": "1"}
ROOT = Path(__file__).parents[1]


def commands() -> str:
    """The reference of all commands."""
    import typer
    from typer.testing import CliRunner

    from whyalike.cli import app

    def help_of(*names: str) -> str:
        shown = CliRunner().invoke(app, [*names, "--help"], terminal_width=110).stdout
        return "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())

    names: list[tuple[str, ...]] = [()]
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        names.append((name,))
        names += [(name, each) for each in getattr(command, "commands", {})]
    parts = ["# Commands", "Generated from `--help` by `python scripts/make_docs.py`."]
    for each in names:
        parts += [f"## whyalike {' '.join(each)}".rstrip(), f"```\n{help_of(*each)}\n```"]
    return "\n\n".join(parts) + "\n"


def examples() -> str:
    """A line per command: the first example of its help, or of its first subcommand's."""
    import typer

    from whyalike.cli import app

    lines = []
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        texts = [command.help, *(each.help for each in getattr(command, "commands", {}).values())]
        found = re.findall(r"Example: `([^`]+)`", " ".join(filter(None, texts)))
        lines.append(found[0] if found else f"whyalike {name}")
    return "\n".join(["```", *lines, "```"])


def tables() -> dict[str, str]:
    from whyalike.analysis import ANALYSES
    from whyalike.evaluate.measures import MEASURES

    measures = ["| measure | question | needs | parameters |", "| --- | --- | --- | --- |"]
    measures += [
        f"| `{name}` | {entry.question} | {entry.needs} | {', '.join(entry.parameters) or '–'} |"
        for name, entry in MEASURES.items()
    ]
    analyses = ["| analysis | question | needs | parameters | paper |", "| --- | --- | --- | --- | --- |"]
    analyses += [
        f"| `{each.command}` | {each.question} | {each.needs} | "
        f"{'; '.join(f'`{name}`: {parameter.help}' for name, parameter in each.parameters.items()) or '–'} | "
        f"{each.paper or '–'} |"
        for each in ANALYSES.values()
    ]
    return {"measures": "\n".join(measures), "analyses": "\n".join(analyses), "commands": examples()}


def pages() -> dict[Path, str]:
    """Every generated page, as it should be."""
    found = {ROOT / "docs/commands.md": commands()}
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        for name, table in tables().items():
            text = re.sub(
                rf"<!-- {name} -->.*?<!-- end -->",
                lambda _, name=name, table=table: f"<!-- {name} -->\n{table}\n<!-- end -->",
                text,
                flags=re.DOTALL,
            )
        if "<!-- end -->" in text:
            found[path] = text
    return found


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
