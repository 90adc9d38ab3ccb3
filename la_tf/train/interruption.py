"""Ctrl-C and a scheduler's SIGTERM, taken as a wish to stop after the step."""

import signal
import sys
import threading


class StopRequest:
    """A context in which the first Ctrl-C or SIGTERM only sets a mark.

    A second one ends the program at once.
    """

    def __init__(self):
        self.is_set = False
        self._earlier = {}

    def __enter__(self):
        # Python delivers signals to the main thread only.
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._earlier[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *details):
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def _handle(self, number, frame):
        del number, frame
        if self.is_set:
            raise KeyboardInterrupt
        self.is_set = True
        sys.stderr.write("\nstopping after this step; once more stops at once\n")
