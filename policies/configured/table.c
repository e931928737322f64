#include "policies/configured/configured_impl.h"

const struct configured_ops *const configured_table[CONFIGURED_TOOLS] = {
	[CONFIGURED_NPM] = &npm_ops,       [CONFIGURED_PIP] = &pip_ops,
	[CONFIGURED_CARGO] = &cargo_ops,   [CONFIGURED_GO] = &go_ops,
	[CONFIGURED_MAVEN] = &maven_ops,   [CONFIGURED_APT] = &apt_ops,
	[CONFIGURED_DOCKER] = &docker_ops, [CONFIGURED_GIT] = &git_ops,
};
