"""The colours of every picture: orange for what raises the score, blue for what lowers it."""

from __future__ import annotations

Colour = tuple[int, int, int]
POSITIVE: Colour = (179, 88, 6)  # orange against blue: told apart by every kind of colour vision
NEGATIVE: Colour = (33, 102, 172)
PAPER: Colour = (250, 250, 248)
MODELS = ("#0b7f75", "#a9479f", "#8a6d00", "#4b6cc9", "#b04040")  # one each; at least 3 : 1 on white and on dark paper
WHITE_INK = 0.85  # a fuller colour than this is written on in white, where a picture has one ink for every step
BLACK, WHITE = (0, 0, 0), (255, 255, 255)
PAGES = {  # ink and papers of the pages: the paper itself, and what is raised from it
    "light": ((27, 27, 27), (WHITE, (246, 246, 243))),
    "dark": ((234, 234, 234), ((23, 24, 26), (33, 35, 38))),
}
READABLE = 4.5  # contrast that WCAG 2 asks for (AA)


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


def contrast(one: Colour, other: Colour) -> float:
    """The contrast ratio of WCAG 2: from 1, the same, to 21, black on white."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Colour) -> float:
    parts = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def step_ink(end: Colour, step: int, scheme: str) -> Colour:
    """What can be read on a step of a colour, on every paper of a scheme: the page's own ink, or white, or black."""
    own, papers = PAGES[scheme]
    share = step / STEPS
    grounds = [(p + (c - p) * share for p, c in zip(paper, end, strict=True)) for paper in papers]
    rounded = [(round(red), round(green), round(blue)) for red, green, blue in grounds]
    return next(ink for ink in (own, WHITE, BLACK) if all(contrast(ink, ground) >= READABLE for ground in rounded))


def shade_rules() -> str:
    """The style sheet of the classes. Colours are see-through, so that the page's own paper shows, light or dark."""
    rules, dark = [], []
    for letter, end in (("p", POSITIVE), ("n", NEGATIVE)):
        red, green, blue = end
        for step in range(1, STEPS + 1):
            share = step / STEPS
            ink = _ink_rule(end, step, "light")
            rules.append(f".{letter}{step}{{background:rgba({red},{green},{blue},{share:.2f}){ink}}}")
            rules.append(
                f"rect.{letter}{step}{{fill:rgba({red},{green},{blue},{share:.2f})}}"
                f"path.{letter}{step}{{background:none;stroke:rgba({red},{green},{blue},{0.25 + 0.7 * share:.2f})}}"
            )
            if ink or _ink_rule(end, step, "dark"):
                dark.append(f".{letter}{step}{{color:#fff}}")  # on dark paper every full colour is dark
    return "".join(rules) + f"@media (prefers-color-scheme:dark){{{''.join(dark)}}}"


def _ink_rule(end: Colour, step: int, scheme: str) -> str:
    ink = step_ink(end, step, scheme)
    return "" if ink == PAGES[scheme][0] else f";color:{'#fff' if ink == WHITE else '#000'}"
