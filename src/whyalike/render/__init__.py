"""Pictures of explanations: one scene, every medium."""

from __future__ import annotations

from whyalike.render.figure import to_figure
from whyalike.render.html import to_html
from whyalike.render.scene import Scene, scene_of
from whyalike.render.terminal import to_terminal

__all__ = ["Scene", "scene_of", "to_figure", "to_html", "to_terminal"]
