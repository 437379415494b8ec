"""The themes of the app. Nothing is conveyed by colour alone."""

from __future__ import annotations

from textual.theme import Theme

from engram.domain.settings import THEMES

_COLOURS = {
    "dark": Theme(
        "dark", primary="#4c8dc9", secondary="#7aa2c8", accent="#e0a458", warning="#e0a458", error="#e06c75",
        success="#7fb77e", foreground="#dce3ea", background="#14181d", surface="#1b2027", panel="#232a33", dark=True,
    ),
    "light": Theme(
        "light", primary="#1f5f99", secondary="#3d6f9e", accent="#a05a00", warning="#8a5a00", error="#b3261e",
        success="#2e6b34", foreground="#1b1f24", background="#fbfbf9", surface="#f1f1ee", panel="#e4e4e0", dark=False,
    ),
    "high-contrast": Theme(
        "high-contrast", primary="#00a2ff", secondary="#ffffff", accent="#ffff00", warning="#ffff00", error="#ff6060",
        success="#00ff66", foreground="#ffffff", background="#000000", surface="#000000", panel="#1a1a1a", dark=True,
    ),
    # The colours of Okabe and Ito, which people with each kind of colour blindness tell apart.
    "colour-blind": Theme(
        "colour-blind", primary="#56b4e9", secondary="#0072b2", accent="#f0e442", warning="#e69f00", error="#d55e00",
        success="#56b4e9", foreground="#e8e8e8", background="#15171a", surface="#1d2024", panel="#272b30", dark=True,
    ),
}  # fmt: skip


def find_theme(name: str) -> Theme:
    """Return a theme by its name in the configuration."""
    return _COLOURS.get(name, _COLOURS[THEMES[0]])


def next_theme(name: str) -> Theme:
    """Return the theme after this one."""
    index = THEMES.index(name) if name in THEMES else -1
    return _COLOURS[THEMES[(index + 1) % len(THEMES)]]
