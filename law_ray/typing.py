"""Every array alias of the library, once."""

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Int32Array = NDArray[np.int32]
"""Positions and distances in the compiled loops: half the memory traffic of int64."""
IntArray = NDArray[np.int64]
"""Permutations, and everything that indexes an array."""
