"""The simulated web on the product's event loop: the less its server takes of the machine, the more is measured."""

from catchment.eventloop import run
from catchment.simulator.__main__ import main

if __name__ == "__main__":
    main(run)
