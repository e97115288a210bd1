"""Python calls this at its start. PyTorch's libraries are loaded lazily, since what `../prepare.py` puts in the place of those of CUDA is empty."""

import os
import sys

sys.setdlopenflags(os.RTLD_LAZY)
