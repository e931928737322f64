#include "proxy/parse/http1.h"
