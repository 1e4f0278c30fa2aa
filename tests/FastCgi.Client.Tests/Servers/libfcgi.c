/* A libfcgi application: one process, one connection at a time. */
#include <fcgiapp.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    FCGX_Request request;
    FCGX_Init();
    FCGX_InitRequest(&request, FCGX_OpenSocket(argv[1], 5), 0);
    while (argc == 2 && FCGX_Accept_r(&request) == 0) {
        usleep(10000);
        char buffer[8192];
        long length = 0, sum = 0;
        int read;
        while ((read = FCGX_GetStr(buffer, sizeof buffer, request.in)) > 0) {
            length += read;
            for (int i = 0; i < read; i++)
                sum += (unsigned char)buffer[i];
        }
        const char *method = FCGX_GetParam("REQUEST_METHOD", request.envp);
        FCGX_FPrintF(request.out, "Content-Type: text/plain\r\n\r\n%s %ld %ld", method ? method : "", length, sum);
        FCGX_Finish_r(&request);
    }
    return 1;
}
