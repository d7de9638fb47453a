"""What a shell does for one command: its own process group, the terminal handed over, taken back when it stops.

python job_shell.py COMMAND…   (the next line that is typed continues a stopped command)
"""

import os
import signal
import sys

signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it sets the foreground group from the background
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])

while os.WIFSTOPPED(status := os.waitpid(child, os.WUNTRACED)[1]):
    os.tcsetpgrp(0, os.getpgrp())
    print("job stopped", flush=True)
    sys.stdin.readline()
    os.tcsetpgrp(0, child)
    os.kill(child, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(status))
