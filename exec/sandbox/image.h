/* image: the program sallyport-init, as bytes in our own program (init/image.S). */
#pragma once

extern const char image_start[], image_end[];
