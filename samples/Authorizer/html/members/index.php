<?php
echo "PHP greets {$_SERVER['REMOTE_USER']}.\n";
