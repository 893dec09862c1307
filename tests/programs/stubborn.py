"""A program that does not want to end, nor does its child in a session of its own: `stubborn.py PORT [CODE]`.

Both hold one connection to the port, which is closed once neither runs any more. With a code, the program itself ends
with it once it is told a line.
"""

import signal
import socket
import subprocess
import sys

CHILD = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()"

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
connection.set_inheritable(True)
subprocess.Popen([sys.executable, "-S", "-c", CHILD], close_fds=False, start_new_session=True)
connection.sendall(b"running\n")
if len(sys.argv) > 2:
    sys.stdin.readline()
    sys.stderr.write("I have had enough\n")
    sys.exit(int(sys.argv[2]))
while True:
    signal.pause()
