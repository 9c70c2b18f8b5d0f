"""Interactive parts of the pages: one ES module each, in anywidget's form, and what hands them out."""

from kvcourse.widgets.host import STATIC_ENV, StaticWidget, widget

__all__ = ["STATIC_ENV", "StaticWidget", "widget"]
