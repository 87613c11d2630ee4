// hiredis 0.14, for its reader and its formatter. Its sockets block, and know no TLS: ours carry the bytes.
#pragma once
#include <hiredis/hiredis.h>
