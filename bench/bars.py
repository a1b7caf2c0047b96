"""Bars: what a figure has to reach, and whether it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A figure with the least or the most it may be; one of the two is given."""

    name: str
    measured: float
    least: float | None = None
    most: float | None = None
    unit: str = ""

    @property
    def is_met(self) -> bool:
        return (self.least is None or self.measured >= self.least) and (self.most is None or self.measured <= self.most)

    def wanted(self) -> str:
        return f"≥ {self._shown(self.least)}" if self.least is not None else f"≤ {self._shown(self.most or 0.0)}"

    def found(self) -> str:
        return self._shown(self.measured)

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "measured": self.measured, "wanted": self.wanted(), "met": self.is_met}

    def _shown(self, figure: float) -> str:
        text = f"{figure:,.0f}" if figure == int(figure) or abs(figure) >= 100 else f"{figure:.2f}"
        return f"{text} {self.unit}".strip()


def bars_table(bars: Sequence[Bar]) -> Table:
    table = Table("bar", "wanted", "measured", "", title="Bars", box=SIMPLE_HEAD)
    for column in table.columns[1:3]:
        column.justify = "right"
    for bar in bars:
        table.add_row(bar.name, bar.wanted(), bar.found(), "[green]met" if bar.is_met else "[bold red]not met")
    return table


def all_met(bars: Sequence[Bar]) -> bool:
    return all(bar.is_met for bar in bars)
