"""What one process knows of its session: ids, mode, model, rules, counted money. Refuses I/O: it is a notebook."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .versions import Traits

Json = dict[str, Any]


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass
class Usage:
    """Tokens of one or several model calls."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0

    def add(self, other: Usage) -> None:
        self.tokens_in += other.tokens_in
        self.tokens_out += other.tokens_out
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.thinking += other.thinking

    def cost(self, price: tuple[float, float]) -> float:
        """Cache reads at a tenth and cache writes at 1.25 of the price of input, as the vendor bills them."""
        inward = self.tokens_in + 0.1 * self.cache_read + 1.25 * self.cache_write
        return (inward * price[0] + self.tokens_out * price[1]) / 1_000_000


@dataclass
class Purse:
    """Money and tokens by model, added up over the process (and over a clean resume on 2.1.326)."""

    price: tuple[float, float]
    by_model: dict[str, Usage] = field(default_factory=dict)
    carried_over: float = 0.0

    def pay(self, model: str, usage: Usage) -> None:
        self.by_model.setdefault(model, Usage()).add(usage)

    @property
    def total(self) -> float:
        return self.carried_over + sum(usage.cost(self.price) for usage in self.by_model.values())


@dataclass
class Session:
    """The notebook. ``new_id`` is the one source of fresh ids."""

    traits: Traits
    id: str
    cwd: str
    config_dir: str
    mode: str
    model: str
    purse: Purse
    new_id: Callable[[], str] = new_id
    allow_rules: list[str] = field(default_factory=list)
    deny_rules: list[str] = field(default_factory=list)
    ask_rules: list[str] = field(default_factory=list)
    lasting_rules: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    bypass_launched: bool = False
    mode_before_plan: str = "default"
    plan_file: str | None = None
    title: str | None = None
    results: int = 0
    agents: Json = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def forget(self) -> None:
        """``/clear`` of 2.1.326: a new id, nothing counted."""
        self.id, self.plan_file = self.new_id(), None
        self.purse = Purse(self.purse.price)
