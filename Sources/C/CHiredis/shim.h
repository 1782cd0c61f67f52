#pragma once
#include <sys/time.h>
#include <stdlib.h>
#include <hiredis/hiredis.h>
#include <hiredis/read.h>
