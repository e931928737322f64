/* otlp: sends records as logs of OpenTelemetry: OTLP over HTTP, encoded as JSON. */
#pragma once

#include "cli/audit/send/receiver_impl.h"

extern const struct receiver_ops otlp_http_ops, otlp_https_ops;
