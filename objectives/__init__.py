"""Black boxes over permutations: the objectives that law-ray brings along, and the way to one's own."""

from objectives.base import Objective, families, load

__all__ = ["Objective", "families", "load"]
