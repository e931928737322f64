#!/bin/sh
# Init without a plan ends with 125, after it has tried to report that. usage: init.sh QEMU INIT
said=$("$1" -strace "$2" 2>&1 </dev/null 3>&- 4>&-)
status=$?
[ "$status" = 125 ] || { echo "ended with $status: $said"; exit 1; }
case $said in *"fstat(4,"*"sendto(3,"*) ;; *) echo "made other calls: $said"; exit 1 ;; esac
