#include "exec/exec.h"
