<?php
usleep(20000);
$sum = 0;
$body = file_get_contents('php://input');
foreach (count_chars($body, 1) as $value => $count)
    $sum += $value * $count;
header('Content-Type: text/plain');
echo "$_SERVER[REQUEST_METHOD] ", strlen($body), " $sum";
