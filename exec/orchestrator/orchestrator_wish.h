/* orchestrator_wish: what a request wants of its confinement, and where it goes. */
#pragma once

/* What one call wants of its confinement. */
enum orchestrator_wish {
	ORCHESTRATOR_USUAL,
	ORCHESTRATOR_WITH_ACCESS, /* and request.accesses */
	ORCHESTRATOR_ESCALATED    /* unconfined. Where files are denied: as usual, and it is said */
};
enum orchestrator_preference {
	ORCHESTRATOR_SANDBOX_AUTO,
	ORCHESTRATOR_SANDBOX_REQUIRE,
	ORCHESTRATOR_SANDBOX_FORBID /* such a run is unconfined, and needs a leave for that */
};
/* PATCH: where all of it goes, by whoever can tell. */
enum orchestrator_place {
	ORCHESTRATOR_NO_PLACE, /* nobody may change it, or it is not known: refused */
	ORCHESTRATOR_OUTSIDE,  /* of what the sandbox lets be written: asked */
	ORCHESTRATOR_INSIDE
};
