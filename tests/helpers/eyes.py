"""Colours as eyes see them, also those without red, green or blue cones."""

import numpy as np
from matplotlib.colors import to_rgb

# How colours look without red, green or blue cones: Machado, Oliveira and Fernandes, 2009.
EYES = {
    "all cones": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}


def lab(colours, eyes):
    """Return CIELAB of colours as such eyes see them."""
    rgb = np.array([to_rgb(c) for c in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(eyes).T, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(seen @ np.array(to_xyz).T / [0.9505, 1.0, 1.089]).T
    return np.column_stack((116 * y - 16, 500 * (x - y), 200 * (y - z)))
