/* orchestrator_confinement: the confinement that a request asks for, and the place it writes to. */
#pragma once

/* The confinement that one request asks for. */
enum orchestrator_confinement {
	ORCHESTRATOR_USUAL,
	ORCHESTRATOR_WITH_ACCESS, /* plus request.accesses */
	ORCHESTRATOR_ESCALATED    /* unconfined. If files are denied: as usual, with a note */
};
/* PATCH: where all of its files are; determined by the caller. */
enum orchestrator_place {
	ORCHESTRATOR_NO_PLACE, /* protected, or not known: refused */
	ORCHESTRATOR_OUTSIDE,  /* outside of what the sandbox may write: asked */
	ORCHESTRATOR_INSIDE
};
