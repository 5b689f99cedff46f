"""The app: three pages, and the same answers as JSON. The only door to FastAPI."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from whyalike.errors import BadInput, MissingExtra, UnknownName, WhyalikeError

try:
    from fastapi import FastAPI, Request
    from fastapi.exceptions import RequestValidationError
    from fastapi.responses import HTMLResponse, JSONResponse, Response
    from fastapi.staticfiles import StaticFiles
    from fastapi.templating import Jinja2Templates
    from starlette.exceptions import HTTPException
except ImportError as missing:
    raise MissingExtra("FastAPI", "the web explorer", "server") from missing

from whyalike import __version__, render
from whyalike.api import compare
from whyalike.methods import METHODS
from whyalike.render import comparison as comparison_picture
from whyalike.render import contrast as contrast_picture
from whyalike.render import html as html_picture
from whyalike.render.scene import caption_of, scene_of
from whyalike.results.contrast import Contrast
from whyalike.results.explanation import Explanation
from whyalike.server.limits import Limits
from whyalike.server.schemas import CompareRequest, ContrastRequest, ExplainRequest, OneMethod
from whyalike.server.settings import ServerSettings
from whyalike.server.wording import in_page_words
from whyalike.server.worker import Busy, TooSlow, Worker

HERE = Path(__file__).parent
PAGES = {"/": "explain", "/compare": "compare", "/contrast": "contrast"}
ON_THE_PAGE = [name for name, method in METHODS.items() if not method.needs_more and "dense" in method.kinds]
MOST_COMPARED = 12
REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"description": "what was asked cannot be done; the answer says why"},
    401: {"description": "the server's token is missing or not right"},
    404: {"description": "no such model, method or layer"},
    408: {"description": "the request took too long to send"},
    413: {"description": "the request is too large"},
    422: {"description": "the request is not what it should be; the answer says where"},
    503: {"description": "too many are waiting, or the answer took too long; see Retry-After"},
}


def create_app(settings: ServerSettings | None = None) -> Limits:
    """The whole app, its limits around it. Loads no model until one is asked for."""
    settings = settings or ServerSettings()
    worker = Worker(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        worker.close()

    app = FastAPI(
        title="whyalike",
        version=__version__,
        description="Why does this model find these two texts alike?",
        docs_url=None,  # FastAPI's own pages load their scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.mount("/static", StaticFiles(directory=HERE / "static"), name="static")
    refusals(app)
    add_picture_style(app)
    _pages(app, settings)
    _api(app, worker, settings)
    return Limits(app, settings)


def add_picture_style(app: FastAPI) -> None:
    """The style sheet of every picture."""

    @app.get("/picture.css", include_in_schema=False)
    async def picture_style() -> Response:
        return Response(html_picture.style(), media_type="text/css")


def _pages(app: FastAPI, settings: ServerSettings) -> None:
    templates = Jinja2Templates(directory=HERE / "templates")

    def page(name: str) -> Any:
        async def show(request: Request) -> HTMLResponse:
            context = {
                "page": name,
                "pages": PAGES,
                "methods": ON_THE_PAGE,
                "titles": {name: METHODS[name].title for name in ON_THE_PAGE},
                "adding_up": _adding_up(),
                "settings": settings,
            }
            return templates.TemplateResponse(request, f"{name}.html", context)

        return show

    for path, name in PAGES.items():
        app.add_api_route(path, page(name), include_in_schema=False, response_class=HTMLResponse)

    @app.get("/api", include_in_schema=False, response_class=HTMLResponse)
    async def about(request: Request) -> HTMLResponse:
        context = {"page": "api", "pages": PAGES, "paths": app.openapi()["paths"], "settings": settings}
        return templates.TemplateResponse(request, "api.html", context)


def _api(app: FastAPI, worker: Worker, settings: ServerSettings) -> None:
    def checked(*texts: str) -> None:
        for text in texts:
            if len(text) > settings.max_characters:
                raise BadInput(
                    f"A text has {len(text)} characters; this server takes at most {settings.max_characters}. Shorten it."
                )

    def explained(left: str, right: str, asked: OneMethod, *, aligned: bool = False) -> Explanation:
        checked(left, right)
        options = asked.model, asked.method, asked.layer, asked.unit, asked.truncate
        return worker.explanation(left, right, *options, aligned=aligned)

    def pair(asked: ExplainRequest) -> Explanation:
        return explained(asked.left, asked.right, asked, aligned=asked.aligned)

    @app.get("/healthz", summary="Is the server alive?")
    async def healthz() -> dict[str, Any]:
        return {"status": "ok", "version": __version__, "waiting": worker.waiting}

    @app.get("/api/models", summary="The models this server explains", responses=_only(401))
    async def models() -> list[dict[str, Any]]:
        return [{"name": name, "loaded": worker.loaded(name)} for name in settings.models]

    @app.get("/api/methods", summary="The methods, what they do, and whether they add up", responses=_only(401))
    async def methods() -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "title": METHODS[name].title,
                "summary": METHODS[name].summary,
                "paper": METHODS[name].paper,
                "adds_up": METHODS[name].adds_up,
            }
            for name in ON_THE_PAGE
        ]

    @app.post("/api/explain", summary="Why are these two alike?", responses=REFUSALS)
    async def explain(asked: ExplainRequest) -> dict[str, Any]:
        """What `whyalike explain --json` prints; under `html` its picture, and under `scene` the values behind it."""

        def work() -> dict[str, Any]:
            found = pair(asked)
            scene = scene_of(found, special_tokens=asked.special_tokens)
            return {**found.to_dict(), "scene": scene.to_dict(), "html": html_picture.pieces(scene)}

        return await worker.run(work, [asked.model])

    @app.post("/api/explain.html", summary="The picture as a page", responses=REFUSALS, response_class=HTMLResponse)
    async def explain_html(asked: ExplainRequest) -> HTMLResponse:
        page = await worker.run(lambda: render.to_html(pair(asked)), [asked.model])
        return HTMLResponse(page)

    @app.post("/api/explain.png", summary="The picture as an image", responses=REFUSALS, response_class=Response)
    async def explain_png(asked: ExplainRequest) -> Response:
        image = await worker.run(lambda: render.to_png(pair(asked)), [asked.model])
        return Response(image, media_type="image/png")

    @app.post("/api/compare", summary="One pair by several methods, models or layers", responses=REFUSALS)
    async def compare_(asked: CompareRequest) -> dict[str, Any]:
        checked(asked.left, asked.right)
        asked_for = len(asked.methods) * len(asked.models or (None,)) * len(asked.layers)
        if asked_for > MOST_COMPARED:
            raise BadInput(
                f"That is {asked_for} explanations at once; this server compares at most {MOST_COMPARED}. Choose fewer."
            )

        def work() -> dict[str, Any]:
            names: Sequence[str | None] = asked.models or [None]
            encoders = [worker.encoder(name) for name in names]
            options = {
                "layers": asked.layers,
                "unit": asked.unit,
                "truncate": asked.truncate,
                "aligned": asked.aligned,
            }
            found = compare(asked.left, asked.right, methods=asked.methods, encoders=encoders, **options)  # type: ignore[arg-type]
            return {**found.to_dict(), "html": comparison_picture.pieces(found)}

        return await worker.run(work, asked.models or [None])

    @app.post("/api/contrast", summary="Why a rather than b for a query?", responses=REFUSALS)
    async def contrast(asked: ContrastRequest) -> dict[str, Any]:
        def work() -> dict[str, Any]:
            found = [explained(asked.query, text, asked) for text in (asked.a, asked.b)]
            contrast = Contrast(*found)
            said = {
                "heading": contrast.sentence,
                "caption": caption_of(contrast.a),
                "closing": contrast_picture.sum_line(contrast),
            }
            return {**contrast.to_dict(), **said, "html": contrast_picture.pieces(contrast)}

        return await worker.run(work, [asked.model])


def refusals(app: FastAPI) -> None:
    """Errors we foresee, as JSON with the reason."""

    @app.exception_handler(WhyalikeError)
    async def refuse(_: Request, error: WhyalikeError) -> JSONResponse:
        status = 503 if isinstance(error, Busy | TooSlow) else 404 if isinstance(error, UnknownName) else 400
        headers = {"Retry-After": "1"} if status == 503 else {}
        message = str(error)
        body = {"error": {"type": type(error).__name__, "message": message, "on_page": in_page_words(message)}}
        return JSONResponse(body, status_code=status, headers=headers)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        body = {"error": {"type": "HTTPError", "message": str(error.detail)}}
        return JSONResponse(body, status_code=error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        body = {"error": {"type": "InvalidRequest", "message": f"{where}: {first['msg']}."}}
        return JSONResponse(body, status_code=422)


def _adding_up() -> list[str]:
    return [name for name in ON_THE_PAGE if METHODS[name].adds_up]


def _only(*statuses: int) -> dict[int | str, dict[str, Any]]:
    return {status: REFUSALS[status] for status in statuses}
