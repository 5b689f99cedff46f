"""The page of a study: one explanation after the other, rated from 1 to 5."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, ConfigDict, Field

from whyalike import __version__
from whyalike.evaluate.rating import LONGEST_NAME, RatingStudy
from whyalike.render.rating import rating_pieces
from whyalike.server.app import HERE, add_picture_style, refusals
from whyalike.server.limits import Limits
from whyalike.server.settings import ServerSettings

Rater = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]


class Who(BaseModel):
    """A rater."""

    model_config = ConfigDict(extra="forbid")
    rater: Rater


class Answer(Who):
    """What a rater says of an item."""

    item: Annotated[str, Field(max_length=40)]
    score: Annotated[int, Field(ge=1, le=5, strict=True)]


def create_study(study: RatingStudy, settings: ServerSettings) -> Limits:
    """The app of one study, its limits around it."""
    app = FastAPI(title="whyalike study", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    refusals(app)
    add_picture_style(app)
    templates = Jinja2Templates(directory=HERE / "templates")

    @app.get("/", response_class=HTMLResponse)
    def page(request: Request) -> HTMLResponse:
        return templates.TemplateResponse(
            request, "rate.html", {"page": "rate", "pages": {"/": "rate"}, "longest": LONGEST_NAME}
        )

    @app.get("/healthz")
    def healthz() -> dict[str, Any]:
        return {"status": "ok", "version": __version__}

    @app.post("/api/next")
    def next_item(asked: Who) -> dict[str, Any]:
        return _with_picture(study.next_item(asked.rater))

    @app.post("/api/answer")
    def answer(given: Answer) -> dict[str, Any]:
        study.answer(given.rater, given.item, given.score)
        return _with_picture(study.next_item(given.rater))

    return Limits(app, settings)


def _with_picture(found: dict[str, Any]) -> dict[str, Any]:
    """What a rater sees next, with its picture as HTML."""
    item = found["item"]
    return found if item is None else {**found, "html": rating_pieces(item)}
