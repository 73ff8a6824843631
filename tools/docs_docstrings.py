"""What the reference of the documentation changes in docstrings: an extension of Griffe, which reads them.

Griffe knows the section "Examples:", and shows an "Example:" as a paragraph without line breaks. The last line of the
docstring of `minimize`, "Options:", announces what is appended at run time; the page has tables of the options instead.
"""

import re
from typing import Any

import griffe


class Docstrings(griffe.Extension):
    """Rewrites docstrings before they are parsed."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Name the sections as Griffe does."""
        if obj.docstring is not None:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r"\n+Options:\s*$", "", text)
