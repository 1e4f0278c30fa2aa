#!/usr/bin/perl
# Starts a program, asks it for / as soon as it accepts a connection, and prints the milliseconds from the start to the answer.
#   first-answer.pl http|fastcgi PORT PROGRAM ARGUMENT...
use strict;
use warnings;
use IO::Socket::INET;
use Time::HiRes qw(time usleep);

my ($protocol, $port, @command) = @ARGV;
my $request = $protocol eq 'http' ? "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" : fastcgi_request();

my $start = time;
my $child = fork // die "fork: $!";
if ($child == 0) {
    open STDOUT, '>', '/dev/null';
    exec @command or die "exec: $!";
}

my $answer = '';
until ($answer =~ /An ASP\.NET Core application/) {
    die "The program does not answer.\n" if time - $start > 30;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or usleep(500), next;
    print $socket $request;
    $answer = do { local $/; <$socket> } // '';
}
printf "%.1f\n", 1000 * (time - $start);
kill TERM => $child;
waitpid $child, 0;

sub fastcgi_request {
    my %params = (REQUEST_METHOD => 'GET', REQUEST_URI => '/', SERVER_PROTOCOL => 'HTTP/1.1', HTTP_HOST => 'localhost');
    my $pairs = join '', map { pack('CC', length, length $params{$_}) . $_ . $params{$_} } sort keys %params;
    return record(1, pack('nCx5', 1, 0)) . record(4, $pairs) . record(4, '') . record(5, '');
}

sub record {
    my ($type, $content) = @_;
    return pack('CCnnCC', 1, $type, 1, length $content, 0, 0) . $content;
}
