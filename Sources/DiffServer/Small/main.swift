// The executable `diffserver-small`, which is there to be seen: sessions in memory, and lists that somebody posts.

import DiffCommand

Program.run(with: nil)
