"""The colours of every picture: orange for what raises the score, blue for what lowers it."""

from __future__ import annotations

Colour = tuple[int, int, int]
POSITIVE: Colour = (179, 88, 6)  # orange against blue: told apart by every kind of colour vision
NEGATIVE: Colour = (33, 102, 172)
PAPER: Colour = (250, 250, 248)
MODELS = ("#0b7f75", "#a9479f", "#8a6d00", "#4b6cc9", "#b04040")  # one each; at least 3 : 1 on white and on dark paper
WHITE_INK = 0.85  # a fuller colour than this is written on in white; see the test of contrast ratios


def rgb(colour: Colour) -> str:
    """As CSS, SVG and charts write it."""
    return "rgb({},{},{})".format(*colour)


def shade(value: float, limit: float) -> tuple[float, Colour]:
    """How much of which colour: a diverging scale with nothing at zero."""
    share = min(1.0, abs(value) / limit) ** 0.8  # small values stay visible
    return share, POSITIVE if value >= 0 else NEGATIVE


def colour(value: float, limit: float) -> Colour:
    """The same on paper, for media that cannot see through a colour."""
    share, end = shade(value, limit)
    red, green, blue = (round(paper + (full - paper) * share) for paper, full in zip(PAPER, end, strict=True))
    return red, green, blue


def ink(background: Colour) -> Colour:
    """Black or white, whichever reads better."""
    luminance = sum(weight * channel for weight, channel in zip((0.299, 0.587, 0.114), background, strict=True))
    return (20, 20, 20) if luminance > 140 else (255, 255, 255)


STEPS = 20  # of a colour, from nothing to full


def shade_step(value: float, limit: float) -> int:
    """A shade as a whole number from −20 to 20: what pages, which write colours as classes, need."""
    share, _ = shade(value, limit)
    return round(STEPS * share) * (1 if value >= 0 else -1)


def shade_class(value: float, limit: float) -> str:
    """The CSS class of a shade: ``p1`` to ``p20`` for positive values, ``n1`` to ``n20`` for negative ones, ``p0`` for none."""
    step = shade_step(value, limit)
    return f"p{step}" if step >= 0 else f"n{-step}"


def shade_rules() -> str:
    """The style sheet of the classes. Colours are see-through, so that the page's own paper shows, light or dark."""
    rules = []
    for letter, (red, green, blue) in (("p", POSITIVE), ("n", NEGATIVE)):
        for step in range(1, STEPS + 1):
            share = step / STEPS
            ink = ";color:#fff" if share > WHITE_INK else ""
            rules.append(f".{letter}{step}{{background:rgba({red},{green},{blue},{share:.2f}){ink}}}")
            rules.append(
                f"rect.{letter}{step}{{fill:rgba({red},{green},{blue},{share:.2f})}}"
                f"path.{letter}{step}{{background:none;stroke:rgba({red},{green},{blue},{0.25 + 0.7 * share:.2f})}}"
            )
    return "".join(rules)
