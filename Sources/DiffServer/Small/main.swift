// The executable `diffserver-small`, a minimal server to read: sessions in memory, and lists that are posted.

import DiffCommand

Program.run(with: nil)
