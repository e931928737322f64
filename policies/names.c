#include "policies/policies.h"
