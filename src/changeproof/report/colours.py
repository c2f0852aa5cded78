"""The colours of methods, once: those of figures for print are those of the page."""

from __future__ import annotations

# Okabe and Ito's eight colours, a grey, and a wine red: one for each method of the package.
COLOURS = (
    "#D55E00", "#56B4E9", "#C4C4C4", "#E69F00", "#009E73",
    "#CC79A7", "#0072B2", "#000000", "#F0E442", "#882255",
)  # fmt: skip
# The same hues where the page is dark: black would not be seen there.
ON_DARK = (
    "#F0803C", "#8FD0F5", "#A0A0A0", "#F0B23C", "#2FC596",
    "#E09BC6", "#4EA6E0", "#E8EAEA", "#F0E442", "#D9709F",
)  # fmt: skip


def stylesheet() -> str:
    """Return the colours as the page's variables."""
    themes = {":root": COLOURS, ':root[data-theme="dark"]': ON_DARK}
    return "\n".join(
        f"{theme} {{ {' '.join(f'--series-{n}: {c};' for n, c in enumerate(colours))} }}"
        for theme, colours in themes.items()
    )
